"""Comparing kernels: the default schedule, the tuned one and NumPy, in turns and with the same threads."""
