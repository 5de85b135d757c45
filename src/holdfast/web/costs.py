"""What requests cost, in units of the rate of a user; an ordinary request costs 1."""

from __future__ import annotations

from typing import Final

WRITTEN_BYTES: Final = 32 << 10
READ_BYTES: Final = 256 << 10
CHATS: Final = 20
MEMBERS: Final = 100
"""So many bytes that are written or read, chats that are looked at, or members that are listed,
cost one unit. A new member of a chat costs one."""


def of_written(size: int) -> int:
    """Return what *size* bytes that a client sends cost beyond an ordinary request."""
    return size // WRITTEN_BYTES


def of_read(size: int) -> int:
    """Return what *size* bytes that a client gets cost beyond that."""
    return size // READ_BYTES


def of_inbox(chats: int) -> int:
    """Return what looking at *chats* costs beyond that."""
    return chats // CHATS


def of_members(members: int) -> int:
    """Return what listing *members* costs beyond that."""
    return members // MEMBERS
