"""`holdfast complete`: names by their beginning."""

from __future__ import annotations

from .command import app

__all__ = ["app"]
