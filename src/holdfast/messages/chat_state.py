"""Remember the state of chats without news, so that the next read can examine them together."""

from __future__ import annotations

from typing import Final, NamedTuple

from .message import Position
from .seen_positions import position_text

STATES_S: Final = 60.0
"""Seconds after which each chat is examined by itself again, whatever is known of it.

With a known state, `fetch.lua` looks only for later messages and for the cursor of the user. It
does not notice that a message was replaced by another one with the same number, if the clock of the
server was set back, and the user has acknowledged the other message on another device.
"""

_MAX_DIGITS: Final = 13
"""Maximum digits of the number of a message, so that Lua represents the sum of 64 exactly."""


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
