"""A tuning log as a page to look at: progress, failures, predictions, and the schedules that won."""
