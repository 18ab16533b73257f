"""Sketches: the search space of a workload, derived from the structure of its stages. No operator is known by name."""

from __future__ import annotations

from loopwright.autotune.sketch.generate import sketches

__all__ = ["sketches"]
