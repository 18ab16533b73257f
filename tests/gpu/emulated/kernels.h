/* CUDA as C++ for this CPU: what kernels say, in words of cuda.c. */

#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __syncthreads() emulated_wait()

#define CUDART_INF_F ((float)INFINITY)
#define CUDART_NAN_F ((float)NAN)
#define CUDART_INF ((double)INFINITY)
#define CUDART_NAN ((double)NAN)

struct Index {
  unsigned x, y, z;
};
extern "C" {
Index threadIdx, blockIdx;
void (*emulated_wait)();
}
using std::max;
using std::min;
