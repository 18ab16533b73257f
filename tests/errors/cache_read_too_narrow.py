# ScheduleError
# cache_read A: dtype='int8' does not hold every uint8 that A may have; int16 or int32 or int64 or uint16 or uint32 or uint64 does

from loopwright import ops

ops.matmul(M=16, N=32, K=8, dtype="uint8").schedule().cache_read("A", dtype="int8")
