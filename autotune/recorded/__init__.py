"""Recorded spaces: what was measured once is replayed, so that searches and models are compared without a device."""
