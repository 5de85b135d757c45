"""Limit how often one user contacts other users without their consent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from ..limits import Limits
from ..problems import Problem
from ..request_rates import RequestRates

SHOWN: Final = 60
"""Characters of a user name that an error message shows."""


class ContactLimits:
    """Limits new chats, invitations and unanswered messages, so that no user can flood another."""

    def __init__(self, rates: RequestRates, limits: Limits) -> None:
        self._chats = rates.limiter("chats", limits.chats)
        self._invitations = rates.limiter("invitations", limits.invitations)
        self._unanswered = rates.limiter("unanswered", limits.unanswered)

    async def create(self, user: str, others: Iterable[str]) -> None:
        """Count a chat that *user* creates with *others*.

        Raises:
            Problem: *user* has created too many chats.
        """
        await self._chats.require(user, "you have created too many chats")
        await asyncio.gather(*(self.invite(user, other) for other in others))

    async def invite(self, user: str, other: str) -> None:
        """Count an invitation: *user* adds *other* to a chat.

        Raises:
            Problem: *user* has added *other* to too many chats.
        """
        if user != other:
            detail = f"you have added {other[:SHOWN]!r} to too many chats"
            await self._invitations.require(_pair(user, other), detail)

    async def write(self, user: str, to: str) -> None:
        """Count a message from *user* to the mailbox of *to*.

        Raises:
            Problem: *user* has sent too many messages to *to*, who has not answered.
        """
        if user == to:
            return
        detail = f"you have sent too many messages to {to[:SHOWN]!r}, who has not answered"
        try:
            await self._unanswered.require(_pair(user, to), detail)
        except Problem:
            if not await self._unanswered.has_passed(_pair(to, user)):
                raise


def _pair(one: str, other: str) -> str:
    return f"{len(one)}:{one}{other}"
