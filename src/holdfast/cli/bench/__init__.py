"""`holdfast bench`: how fast Holdfast is here, with this server and this network."""

from __future__ import annotations

from .command import app

__all__ = ["app"]
