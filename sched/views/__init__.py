"""Schedules to look at: what their loops touch, drawings, differences."""
