"""Support options that the server stores for all clients, such as the limit of a semaphore.

The first client that gives an option defines it. `on_conflict` decides what happens if another
client gives another value.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeVar, get_args

from ..errors.one_line_logger import logger_of

OnConflict = Literal["error", "keep", "update"]
"""Decides what happens if the server stores another value than this client gives.

- `error`: the call raises `DefinitionConflict`.
- `keep`: the stored value is used.
- `update`: the given value is stored.
"""

_LOGGED: Final = 1000
"""Number of warnings that this process remembers, so that it logs each of them only once."""

T = TypeVar("T", bound=str)

logger: Final = logger_of("holdfast")
_logged: set[tuple[str, str, str]] = set()


def checked_on_conflict(on_conflict: T, choices: Any = OnConflict) -> T:
    """Return *on_conflict* if it is one of *choices*.

    Raises:
        ValueError: *on_conflict* is none of them.
    """
    names: tuple[str, ...] = get_args(choices)
    if on_conflict not in names:
        expected = ", ".join(map(repr, names))
        raise ValueError(f"on_conflict must be one of {expected}, got {on_conflict!r}")
    return on_conflict


def given_option(value: str | int | None, on_conflict: OnConflict) -> str | int:
    """Return an option as scripts expect it: the value, a blank, and `on_conflict`.

    Args:
        value: the given value; None: not given, which returns an empty text.
        on_conflict: as in `OnConflict`; the default `keep` is left out of the result.
    """
    if value is None:
        return ""
    return value if on_conflict == "keep" else f"{value} {on_conflict}"


def log_kept(what: str, stored: object, given: object, *, fixed: bool = False) -> None:
    """Log once that the stored value stays, although this program gives another one.

    Args:
        what: the option, such as `the limit of semaphore 'api'`.
        stored: the stored value, which is used.
        given: the value that this program gives.
        fixed: whether the option can never be changed.
    """
    entry = (what, str(stored), str(given))
    if entry in _logged:
        return
    if len(_logged) >= _LOGGED:
        _logged.clear()
    _logged.add(entry)
    change = "it cannot be changed"
    if not fixed:
        change = "to change it, call redefine() once, or give on_conflict='update'"
    logger.warning("%s stays %s; %s as given here is not used: %s", *entry, change)
