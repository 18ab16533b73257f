"""The operator library."""
