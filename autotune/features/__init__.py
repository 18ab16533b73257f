"""What the cost model sees of a candidate."""
