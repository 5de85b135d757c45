"""Errors of rate limiters."""

from __future__ import annotations

from .base import HoldfastError


class RateLimited(HoldfastError, TimeoutError):
    """A call would exceed a rate limit, or would have to wait longer than its timeout.

    Nothing is charged.

    Attributes:
        what: the limiter and the subject, such as `limit 'openai/user:7'`.
        retry_after: seconds until the costs would fit.
        timeout: seconds that the caller was ready to wait.
    """

    def __init__(self, what: str, retry_after: float, timeout: float = 0.0) -> None:
        wait = f" within {timeout:.3g} s" if timeout else ""
        super().__init__(f"{what} lets nothing more pass{wait}; retry after {retry_after:.3g} s")
        self.what = what
        self.retry_after = retry_after
        self.timeout = timeout
