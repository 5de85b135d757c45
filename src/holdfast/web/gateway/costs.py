"""Compute what a request costs against its user's rate limit. An ordinary request costs 1 unit."""

from __future__ import annotations

from typing import Final

WRITTEN_BYTES: Final = 32 << 10
"""Bytes in a request or frame that cost one more unit."""

READ_BYTES: Final = 256 << 10
"""Bytes in a response that cost one more unit."""

CHATS: Final = 20
"""Chats that the gateway reads for a request at the cost of one more unit."""

MEMBERS: Final = 100
"""Listed members of a chat that cost one more unit."""


def of_written(size: int) -> int:
    """Return the additional cost of *size* bytes that a client sends."""
    return size // WRITTEN_BYTES


def of_read(size: int) -> int:
    """Return the additional cost of *size* bytes that a client receives."""
    return size // READ_BYTES


def of_inbox(chats: int) -> int:
    """Return the additional cost of reading the inbox of a user with this number of *chats*."""
    return chats // CHATS


def of_members(members: int) -> int:
    """Return the additional cost of listing this number of *members*."""
    return members // MEMBERS
