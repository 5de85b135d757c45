"""Define messages that are being sent to a chat, and their errors if the call fails."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from ..errors import HoldfastError, OutcomeUnknown

MAX_MESSAGES: Final = 64
"""Maximum number of messages in one call. More would save nothing, but delay other clients."""

MAX_BYTES: Final = 256 << 10
"""Maximum bytes of all bodies in one call. A larger message is sent alone."""


class OutgoingMessage(msgspec.Struct, eq=False):
    """Hold a message that is being sent to a chat.

    Attributes:
        sender: name of the member who sends the message.
        body: the encoded body.
        trace: the encoded trace context in which the message is sent.
        repeat: sends the message again; called with an `op_id`.
    """

    sender: str
    body: bytes
    trace: bytes
    repeat: Callable[..., Any]


def errors_of(error: HoldfastError, messages: Sequence[OutgoingMessage]) -> list[Exception]:
    """Return an error for each of *messages*, which were sent in a call that failed with *error*.

    An OutcomeUnknown gets the operation id of its message.
    """
    return [_error_of(error, message, place) for place, message in enumerate(messages, 1)]


def _error_of(error: HoldfastError, message: OutgoingMessage, place: int) -> Exception:
    own = copy.copy(error)
    if isinstance(own, OutcomeUnknown):
        op_id = f"{own.op_id}:{place}"
        own.repeatable(op_id, partial(message.repeat, op_id=op_id))
    return own
