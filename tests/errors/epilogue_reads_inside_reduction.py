# ScheduleError
# cache_read bias: C reads bias_global where its reduction has ended, outside the loop C.k; place bias_global at a loop outside k

from tests.sched.workloads import dense

dense(10, 21, 7).schedule().cache_read("bias", at="C.k")
