"""The colours of the report. Those of data are told apart by colour-blind readers, too, and never stand for anything alone.

They follow Okabe and Ito, "Color universal design" (2008), darkened or lightened for enough contrast with the page.
"""

from __future__ import annotations

LIGHT = {
    "page": "#fbfbf9",
    "card": "#ffffff",
    "ink": "#1d2329",
    "soft": "#57616b",
    "rule": "#dde1e4",
    "best": "#0067a3",
    "whole": "#3f9fd0",
    "single": "#a9b2ba",
    "default": "#3a444d",
    "failed": "#cf5500",
    "time": "#00855f",
    "roof": "#7a848d",
    "guide": "#98a2ab",
}
DARK = {
    "page": "#14181c",
    "card": "#1b2126",
    "ink": "#e4e8eb",
    "soft": "#a0abb5",
    "rule": "#333c44",
    "best": "#6cc0f0",
    "whole": "#3d8ab5",
    "single": "#6b7781",
    "default": "#ccd4da",
    "failed": "#f08a4b",
    "time": "#35c497",
    "roof": "#8f9aa4",
    "guide": "#7c8791",
}
DASHED = ("default", "guide")
"""Kinds whose lines are dashed."""
