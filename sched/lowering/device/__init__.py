"""Lowering for GPUs: nests whose loops are bound to blocks and threads become kernels, each a program for one thread.

`nests` prepares the nests, `builder` makes the statement tree, `launches` turns bound loops into indices of threads and finds
what would race, `barriers` puts the threads of a block in step, `emit` writes TensorIR. What warps multiply in fragments is
prepared by `warps`, found in the tree by `fragments`, and written by `wmma`.

A thread does what the sequential program does in its iterations of the bound loops. So whatever is its own is right for the
same reasons as on a CPU; what threads have in common is checked here, buffer by buffer.
"""
