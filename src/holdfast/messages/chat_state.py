"""Remember the state of chats without new messages: one call can check many such chats together."""

from __future__ import annotations

from typing import Final, NamedTuple

from .message import Position
from .seen_positions import position_text

STATES_S: Final = 60.0
"""Seconds after which the client forgets all states, so that each chat is examined by itself again.

For a chat with a known state, `fetch.lua` only checks that there is no later message and that the
user has acknowledged the newest one. In one case this check overlooks a new message: the server
lost the newest message, gave its number to another one with an earlier time (its clock was set
back), and the user acknowledged that one on another device.
"""

_MAX_DIGITS: Final = 13
"""Maximum digits of the number of a message, so that Lua represents the sum of 64 numbers (of the
chats in one call) exactly."""


class ChatState(NamedTuple):
    """The state of a chat in which a user had nothing new.

    Attributes:
        position: the position at which there was nothing new.
        text: the position as an argument of `fetch.lua`.
        newest: id of the newest message of the chat; empty: unknown.
        number: number of this message; 0: unknown.
    """

    position: Position
    text: str
    newest: str
    number: int

    @classmethod
    def of(cls, position: Position, state: str) -> ChatState:
        """Return the state at *position* from the *state* in a reply of `fetch.lua`."""
        newest = state.partition(":")[2]
        number = newest.partition("-")[0]
        if not number.isdecimal() or len(number) > _MAX_DIGITS:  # another program wrote it
            newest, number = "", "0"
        return cls(position, position_text(position, own=False), newest, int(number))
