"""Measurement: worker processes that build, check and time candidates, and the parent side that watches over them."""
