"""From TensorIR to kernels: targets, compilation, calls, threads, and libraries."""
