# ScheduleError
# offset C: A_rows is no copy of bytes (int8 or uint8); cache_read makes one, without dtype=

from loopwright import ops

work = ops.matmul(M=16, N=32, K=8, dtype="int8")
work.schedule().cache_read("A", name="A_rows", dtype="int16").offset("C", "A_rows")
