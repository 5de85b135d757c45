"""`holdfast bench`: measure how fast Holdfast is here."""

from __future__ import annotations

from .report import app

__all__ = ["app"]
