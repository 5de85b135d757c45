"""A message on its way, and what becomes of it if the way breaks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from ..errors import HoldfastError, OutcomeUnknown

MOST_TOGETHER: Final = 64
"""Messages in one call: of more, each costs no less, and the others on that server would wait."""

MOST_BYTES: Final = 256 << 10
"""Of bodies in one call; a larger message goes alone."""


class OutgoingMessage(msgspec.Struct, eq=False):
    """A message to a chat.

    Attributes:
        sender: a member.
        body: as stored.
        trace: in which it is sent, as stored.
        again: sends it once more under the given `op_id`.
    """

    sender: str
    body: bytes
    trace: bytes
    again: Callable[..., Any]


def shared(error: HoldfastError, messages: Sequence[OutgoingMessage]) -> list[Exception]:
    """What *error* of a call is to each of the *letters* in it: unknown to all, or to none."""
    return [_own(error, message, place) for place, message in enumerate(messages, 1)]


def _own(error: HoldfastError, message: OutgoingMessage, place: int) -> Exception:
    own = copy.copy(error)
    if isinstance(own, OutcomeUnknown):
        op_id = f"{own.op_id}:{place}"
        own.repeatable(op_id, partial(message.again, op_id=op_id))
    return own
