"""`holdfast demo`: what Holdfast does, on real data, without any preparation."""

from __future__ import annotations

from .commands import app

__all__ = ["app"]
