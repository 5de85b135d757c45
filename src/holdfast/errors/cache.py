"""Errors of cached functions."""

from __future__ import annotations

from .base import HoldfastError, shortened


class CacheLoadFailed(HoldfastError):
    """The function failed in another process while this caller waited for its result.

    The process that called the function has raised the exception itself.

    Attributes:
        function: name of the cached function.
        reason: class and message of the exception.
    """

    def __init__(self, function: str, reason: str) -> None:
        super().__init__(
            f"cached function {shortened(function)} failed in another process: {reason}; "
            "call it again to try again"
        )
        self.function = function
        self.reason = reason


class CacheTimeout(HoldfastError, TimeoutError):
    """Another caller computes the result, and it took longer than the timeout.

    Attributes:
        function: name of the cached function.
        timeout: seconds that the caller has waited.
    """

    def __init__(self, function: str, timeout: float) -> None:
        super().__init__(
            f"cached function {shortened(function)}: another caller has been computing the result "
            f"for more than {timeout:.3g} s; call it again, or give it a longer timeout="
        )
        self.function = function
        self.timeout = timeout
