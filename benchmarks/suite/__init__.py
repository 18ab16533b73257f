"""Loopwright beside the libraries that people have: ``make bench``, or ``python -m benchmarks.suite``.

Each row of :mod:`.table` is tuned, then timed beside NumPy, PyTorch, JAX, ONNX Runtime, OpenCV, Halide and MetaSchedule. Everyone
gets the same arrays and as many threads, and has a process of its own; processes take turns, one computes at a time. Results are
kept in ``bench/results.json`` after each row, so the same command goes on after an interruption. ``--again PATTERN`` measures
rows again, but for libraries that were far behind in the same version; rows that were measured before :mod:`.peers` changed are
measured again in any case. ``--markdown docs/benchmarks.md`` and ``--plot docs/benchmarks.png`` write the page of the
documentation, with ``--report`` without measuring.

A library that is not installed is left out, and said to be. To have all of them, either in this environment or in another, whose
Python is then named by ``--peers-python PATH`` (it does not need Loopwright)::

    pip install -e ".[tune,peers]"
    pip install numpy torch jax onnxruntime onnx opencv-python-headless halide

PyTorch's build for CPUs will do; its compiler wants a C++ compiler. MetaSchedule is part of TVM, and wants in this environment
``cloudpickle``, ``psutil``, ``tornado`` and ``xgboost``. It tunes each row for as long as we do, once on a machine; its records
are kept in ``bench/metaschedule``.

Where it is decided what is fair:

- :mod:`.table`: the rows, their arrays, their bars. Bars hold for machines with AVX-512, on two threads.
- :mod:`.peers`: each library's ways of computing a row. All that are right are tried; its fastest is timed.
- :mod:`.checks`: what counts as right. A way that computes something else is named on the page, and not timed.
- :mod:`.contest`: who is timed when. :mod:`.intervals`: what the times say.
"""
