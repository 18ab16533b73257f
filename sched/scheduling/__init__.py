"""Schedules: directives over loop nests, checked where they are written; knobs; printing and JSON."""
