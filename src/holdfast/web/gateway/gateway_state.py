"""What all requests of one gateway share, besides the state of every application."""

from __future__ import annotations

from typing import Final

from ... import AsyncHoldfast
from ..limits import ConcurrencyLimiter, Limits, RateLimiter
from ..shared_state import SharedState
from ..timed_cache import TimedCache
from ..tokens import Authenticator
from .authorization import Authorization, May
from .contact_limits import ContactLimits

INBOX_SIZE_LIFETIME_S: Final = 60.0
"""Seconds for which the number of chats of a user is not read again."""


class GatewayState(SharedState[str]):
    """The state of one gateway.

    Args:
        hf: the client of the server.
        authenticator: identifies users.
        limits: what is allowed.
        may: the authorization hook.

    Attributes:
        authorization: asks the hook.
        contact_limits: limit what each user does to users who have not agreed.
        inbox_sizes: the number of chats of each user, read at most once a minute.
        inbox_rate: limits the cost of the chats that the streams of each user read.
        waiting: limits the long polls and streams of each user.
        unauthenticated: limits the streams of each address that have not sent a token yet.
    """

    def __init__(
        self, hf: AsyncHoldfast, authenticator: Authenticator, limits: Limits, may: May | None
    ) -> None:
        super().__init__(hf, authenticator.user_of, limits, authenticator=authenticator)
        self.authorization = Authorization(may)
        self.contact_limits = ContactLimits(limits)
        self.inbox_sizes = TimedCache(lambda user: hf.inbox(user).size(), INBOX_SIZE_LIFETIME_S)
        self.inbox_rate = RateLimiter(limits.user)
        self.waiting = ConcurrencyLimiter(
            limits.waiting, f"you have {limits.waiting} long polls and streams open already"
        )
        self.unauthenticated = ConcurrencyLimiter(
            limits.arriving,
            f"{limits.arriving} streams from this address have not sent their first frame yet",
        )
