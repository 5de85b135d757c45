"""Values that another program has written: reading them ends in one error, whatever is wrong."""

from __future__ import annotations

from types import TracebackType
from typing import Final

import msgspec

from ..errors import DecodeError, HoldfastError
from .concurrency.interruption import raise_interruption

_RAW: Final = (
    *(ValueError, TypeError, ArithmeticError, AttributeError, LookupError),
    msgspec.MsgspecError,
)
"""What Python makes of a value that is not what it should be."""


class decoding:  # noqa: N801  (a context that reads like a verb)
    """A context: what its block meets in damaged values is raised as `DecodeError`.

    Args:
        what: is read, such as `feed 'logs'`.
    """

    __slots__ = ("_what",)

    def __init__(self, what: object) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            raise_interruption(error)
        if isinstance(error, _RAW) and not isinstance(error, HoldfastError):
            raise DecodeError(str(self._what), f"{type(error).__name__}: {error}") from None
