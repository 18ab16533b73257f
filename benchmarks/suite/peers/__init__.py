"""The peers, a file each: ``ROWS``, from a kind of row to the ways in which the library computes it, and ``start``.

A peer runs in a process of its own, which may be another Python's: these files need NumPy and the library alone. A kind that
is not in ``ROWS`` is one that the library has no operation for.
"""
