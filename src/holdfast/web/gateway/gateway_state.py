"""Hold the objects that all requests of one gateway share."""

from __future__ import annotations

from typing import Final

from ... import AsyncHoldfast
from ..concurrency_limiter import ConcurrencyLimiter
from ..limits import Limits
from ..request_rates import RequestRate
from ..shared_state import SharedState
from ..timed_cache import TimedCache
from ..tokens import Authenticator, TaskAuthenticator
from .authorization import Authorization, May
from .contact_limits import ContactLimits

INBOX_SIZE_LIFETIME_S: Final = 60.0
"""Seconds for which the gateway caches the number of chats of a user."""


class GatewayState(SharedState[str]):
    """Holds the objects that all requests of one gateway share.

    Attributes:
        authorization: asks the authorization hook of the application.
        contact_limits: limits how often each user contacts others without their consent.
        inbox_sizes: caches the number of chats of each user for a minute.
        inbox_rate: limits the cost of reading chats for the streams of each user.
        waiting: limits how many long polls and streams each user has open.
        unauthenticated: limits the streams of each address that have not sent a valid token yet.
        task_tokens: reports which tasks a token names; None: tokens name none.
    """

    def __init__(
        self, hf: AsyncHoldfast, authenticator: Authenticator, limits: Limits, may: May | None
    ) -> None:
        super().__init__(
            hf, authenticator.user_of, limits, name="gateway", authenticator=authenticator
        )
        self.authorization: Authorization = Authorization(may)
        self.task_tokens: TaskAuthenticator | None = None
        if isinstance(authenticator, TaskAuthenticator):
            self.task_tokens = authenticator
        self.contact_limits: ContactLimits = ContactLimits(self.rates, limits)
        self.inbox_sizes: TimedCache[int] = TimedCache(
            lambda user: hf.inbox(user).size(), INBOX_SIZE_LIFETIME_S
        )
        self.inbox_rate: RequestRate = self.rates.limiter("streams", limits.user)
        self.waiting: ConcurrencyLimiter = ConcurrencyLimiter(
            limits.waiting, f"you have {limits.waiting} long polls and streams open already"
        )
        self.unauthenticated: ConcurrencyLimiter = ConcurrencyLimiter(
            limits.arriving,
            f"{limits.arriving} streams from this address have not sent their first frame yet",
        )
