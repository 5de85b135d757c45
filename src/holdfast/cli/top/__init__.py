"""`holdfast top`: what goes on in a namespace, as it goes on."""

from __future__ import annotations

from .command import app

__all__ = ["app"]
