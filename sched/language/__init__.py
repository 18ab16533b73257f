"""The language: expressions, stages, operators, and workloads with their keys."""
