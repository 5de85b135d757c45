"""`holdfast serve`: the gateway, and tokens for it."""

from __future__ import annotations

from .command import app

__all__ = ["app"]
