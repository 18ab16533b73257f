"""Recipes: directives for a stage written from its structure alone. A recipe's numbers may be knobs.

The default schedules fill recipes with numbers that suit the target; the tuner's sketches fill them with knobs.
"""
