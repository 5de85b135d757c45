"""A message to a chat before the server has answered, and its error if the call fails."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from ..errors import HoldfastError, OutcomeUnknown

MAX_MESSAGES: Final = 64
"""Messages in one call. More would save nothing and block the server for other clients."""

MAX_BYTES: Final = 256 << 10
"""Bytes of all bodies in one call. A larger message is sent alone."""


class OutgoingMessage(msgspec.Struct, eq=False):
    """A message to a chat.

    Attributes:
        sender: a member.
        body: as stored.
        trace: the trace context in which it is sent, as stored.
        repeat: sends it again with the given `op_id`.
    """

    sender: str
    body: bytes
    trace: bytes
    repeat: Callable[..., Any]


def errors_of(error: HoldfastError, messages: Sequence[OutgoingMessage]) -> list[Exception]:
    """Return the error of each of the *messages* in a call that failed with *error*."""
    return [_error_of(error, message, place) for place, message in enumerate(messages, 1)]


def _error_of(error: HoldfastError, message: OutgoingMessage, place: int) -> Exception:
    own = copy.copy(error)
    if isinstance(own, OutcomeUnknown):
        op_id = f"{own.op_id}:{place}"
        own.repeatable(op_id, partial(message.repeat, op_id=op_id))
    return own
