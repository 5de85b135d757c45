"""Limit how often one user contacts other users without their consent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from ..limits import MAX_PAIRS, Limits, TokenBuckets

SHOWN: Final = 60
"""Characters of a user name that an error message shows."""


class ContactLimits:
    """Limits new chats, invitations and unanswered messages, so that no user can flood another."""

    def __init__(self, limits: Limits) -> None:
        self._chats = TokenBuckets(limits.chats)
        self._invitations = TokenBuckets(limits.invitations, max_names=MAX_PAIRS)
        self._unanswered = TokenBuckets(limits.unanswered, max_names=MAX_PAIRS)
        self._wrote: OrderedDict[str, None] = OrderedDict()

    def create(self, user: str, others: Iterable[str]) -> None:
        """Count a chat that *user* creates with *others*.

        Raises:
            Problem: *user* has created too many chats.
        """
        self._chats.require(user, "you have created too many chats")
        for other in others:
            self.invite(user, other)

    def invite(self, user: str, other: str) -> None:
        """Count an invitation: *user* adds *other* to a chat.

        Raises:
            Problem: *user* has added *other* to too many chats.
        """
        if user != other:
            detail = f"you have added {other[:SHOWN]!r} to too many chats"
            self._invitations.require(_pair(user, other), detail)

    def write(self, user: str, to: str) -> None:
        """Count a message from *user* to the mailbox of *to*, unless *to* has written back.

        Raises:
            Problem: *user* has sent too many messages to *to*, who has not answered.
        """
        if user == to:
            return
        if _pair(to, user) not in self._wrote:
            detail = f"you have sent too many messages to {to[:SHOWN]!r}, who has not answered"
            self._unanswered.require(_pair(user, to), detail)
        self._wrote[_pair(user, to)] = None
        self._wrote.move_to_end(_pair(user, to))
        if len(self._wrote) > MAX_PAIRS:
            self._wrote.popitem(last=False)


def _pair(one: str, other: str) -> str:
    return f"{len(one)}:{one}{other}"
