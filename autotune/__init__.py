"""The tuner: sketches, cost model, search, measurement, log."""
