"""Values that another program has written: reading them ends in one error, whatever is wrong."""

from __future__ import annotations

import re
from types import TracebackType
from typing import Final

import msgspec

from ..errors import DecodeError, HoldfastError, ServerRefused

_RAW: Final = (
    *(ValueError, TypeError, ArithmeticError, AttributeError, LookupError),
    msgspec.MsgspecError,
)
"""What Python makes of a value that is not what it should be."""

_CODES: Final = ("DAMAGED", "WRONGTYPE")
"""Error replies to a value, or a key, that is not what it should be; scripts use the first one."""

_STUMBLED: Final = re.compile(
    r"(user_script:\d+: |value is not |hash value is not |increment or decrement would overflow"
    r"|resulting score is not a number)"
)
"""What follows ERR when a line of a script, or a command in it, cannot use a value."""


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
        if isinstance(error, ServerRefused):
            if _is_damage(error.reason):
                raise DecodeError(str(self._what), error.reason) from None
        elif isinstance(error, _RAW) and not isinstance(error, HoldfastError):
            raise DecodeError(str(self._what), f"{type(error).__name__}: {error}") from None


def _is_damage(reason: str) -> bool:
    """Whether a script could not use a value; a full server, for example, says something else."""
    code, _, rest = reason.partition(" ")
    return code in _CODES or (code == "ERR" and _STUMBLED.match(rest) is not None)
