"""Kernels on GPUs: targets and their limits, source text in the languages of GPUs, and running it through OpenCL."""
