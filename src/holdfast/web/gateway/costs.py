"""What requests cost, in units of the rate of a user; an ordinary request costs 1."""

from __future__ import annotations

from typing import Final

WRITTEN_BYTES: Final = 32 << 10
READ_BYTES: Final = 256 << 10
CHATS: Final = 20
MEMBERS: Final = 100
"""How many bytes that are written or read, chats that are read, or members that are listed cost
one unit. Each new member of a chat costs one unit."""


def of_written(size: int) -> int:
    """Return the additional cost of *size* bytes that a client sends."""
    return size // WRITTEN_BYTES


def of_read(size: int) -> int:
    """Return the additional cost of *size* bytes that a client receives."""
    return size // READ_BYTES


def of_inbox(chats: int) -> int:
    """Return the additional cost of reading *chats*."""
    return chats // CHATS


def of_members(members: int) -> int:
    """Return the additional cost of listing *members*."""
    return members // MEMBERS
