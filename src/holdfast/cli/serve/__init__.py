"""`holdfast serve`: run the gateway and the dashboard, and issue tokens for them."""

from __future__ import annotations

from .commands import app

__all__ = ["app"]
