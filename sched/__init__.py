"""The language: expressions, operators, schedules, and their lowering to a kernel."""
