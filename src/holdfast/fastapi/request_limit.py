"""Limit the requests of a route, as a dependency of FastAPI."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Final

from fastapi import Depends, HTTPException, Request, Response

from .. import (
    AsyncHoldfast,
    AsyncRateLimiter,
    Limit,
    OutcomeUnknown,
    ServerUnavailable,
    client_address,
)
from .client import holdfast, unconnected

_RATE: Final = re.compile(r"(\d{1,12})/(?:(\d{1,6}) ?)?(second|minute|hour|day)s?")
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


def parsed_rate(text: str) -> Limit:
    """Return the limit that *text* describes, such as `10/minute` or `1000/6 hours`.

    Raises:
        ValueError: *text* has another form.
    """
    found = _RATE.fullmatch(text)
    if found is None:
        raise ValueError(f"a rate is written as 10/minute or 1000/6 hours, got {text!r}")
    return Limit(int(found[1]), per=int(found[2] or 1) * _SECONDS[found[3]])


def address_of(request: Request) -> str:
    """Return the address of the client, or its /64 network if the address is IPv6."""
    return client_address(request.scope)


class RequestLimit:
    """A dependency that limits requests: `Depends(RequestLimit("search", "10/minute"))`.

    - A request over the limit gets status 429, `Retry-After`, `RateLimit` and `RateLimit-Policy`.
    - Other responses get `RateLimit` and `RateLimit-Policy`, unless the route returns a `Response`
      of its own.
    - Routes with the same name count together, also in other processes.

    `holdfast.RateLimited` is another thing: the error of a caller that would wait for too long.

    Args:
        name: name of the limiter, as for `AsyncHoldfast.rate_limit`.
        limits: rates such as `10/minute` and `1000/6 hours`, or `Limit` objects without names.
        key: a dependency that returns the key of a request, such as the user. Each key is counted
            separately. None: the request is not limited. By default, it is the address of the
            client.
        open_on_failure: whether requests pass while the server cannot be reached. If not, they get
            status 503.

    Raises:
        InvalidName: the *name* is not allowed.
        ValueError: a rate has another form, a `Limit` has a name, or there are too many rates.
        TypeError: a rate is neither a str nor a `Limit`.
    """

    def __init__(
        self,
        name: str,
        *limits: str | Limit,
        key: Callable[..., Any] = address_of,
        open_on_failure: bool = True,
    ) -> None:
        self._name = name
        self._limits = tuple(
            parsed_rate(each) if isinstance(each, str) else each for each in limits
        )
        self._open_on_failure = open_on_failure
        self._latest: tuple[AsyncHoldfast, AsyncRateLimiter] | None = None
        if not self._limits:
            raise ValueError(f"the limit of requests {name!r} needs a rate, such as 10/minute")
        if wrong := [each for each in self._limits if not isinstance(each, Limit)]:
            raise TypeError(f"give a rate such as 10/minute, or a Limit, got {wrong[0]!r}")
        if named := [each for each in self._limits if each.name not in (None, "requests")]:
            raise ValueError(f"a request has no cost for a limit with a name, got {named[0]!r}")
        with unconnected() as hf:  # raise for wrong options now, and not at the first request
            hf.rate_limit(name, *self._limits)
        # FastAPI reads the parameters of `__call__` from this signature, so that *key* can be any
        # dependency.
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__: inspect.Signature = inspect.Signature(
            [
                inspect.Parameter("request", kind, annotation=Request),
                inspect.Parameter("response", kind, annotation=Response),
                inspect.Parameter("hf", kind, annotation=AsyncHoldfast, default=Depends(holdfast)),
                inspect.Parameter("subject", kind, annotation=Any, default=Depends(key)),
            ]
        )

    async def __call__(
        self, request: Request, response: Response, hf: AsyncHoldfast, subject: str | None
    ) -> None:
        """Charge one request.

        Raises:
            HTTPException: 429: the request is over the limit. 503: the server cannot be reached.
        """
        del request
        if subject is None:
            return
        try:
            decision = await self._limiter(hf).of(subject).try_acquire()
        except (ServerUnavailable, OutcomeUnknown) as error:
            if self._open_on_failure:
                return
            detail = "the rate limiter cannot be reached; try again"
            raise HTTPException(503, detail, {"Retry-After": "1"}) from error
        fields = decision.headers()
        if not decision:
            detail = f"too many requests; try again in {fields['Retry-After']} s"
            raise HTTPException(429, detail, fields)
        response.headers.update(fields)

    def _limiter(self, hf: AsyncHoldfast) -> AsyncRateLimiter:
        if self._latest is None or self._latest[0] is not hf:
            self._latest = hf, hf.rate_limit(self._name, *self._limits)
        return self._latest[1]
