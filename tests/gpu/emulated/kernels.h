/* CUDA as C++ for this CPU: what kernels say, in words of cuda.c. */

#pragma once
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
template <class T>
T max(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T min(T a, T b) {
  return a < b ? a : b;
}
