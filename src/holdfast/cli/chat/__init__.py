"""`holdfast chat`: list chats and mailboxes, write to them, follow them."""

from __future__ import annotations

from .commands import app

__all__ = ["app"]
