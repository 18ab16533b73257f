"""Search strategies: which candidates to measure next. Each sits behind :class:`loopwright.autotune.search.base.Search`."""
