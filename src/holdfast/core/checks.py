"""Check numbers and ids of operations that users pass, before any I/O."""

from __future__ import annotations

from typing import Any


def checked_int(
    value: Any, what: str, least: int | None = None, most: int | None = None, *, unit: str = ""
) -> int:
    """Return *value* if it is a whole number from *least* to *most*.

    Args:
        value: the argument of a user; True and False are refused.
        what: name of the argument, for errors.
        least: lowest allowed value; None: no limits.
        most: highest allowed value; None: no upper limit.
        unit: unit of the number, for errors.

    Raises:
        TypeError: *value* is not an int.
        ValueError: *value* is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an int, got {type(value).__name__}")
    if least is not None and (value < least or (most is not None and value > most)):
        allowed = f"{least:,} or more" if most is None else f"{least:,} to {most:,}"
        raise ValueError(f"{what} must be {allowed}{unit and f' {unit}'}, got {int(value):,}")
    return int(value)


def checked_op_id(op_id: Any) -> str:
    """Return *op_id*, the name that a user gave to an operation, if it is a str.

    Raises:
        TypeError: it is not a str.
    """
    if not isinstance(op_id, str):
        raise TypeError(f"op_id must be a str, got {type(op_id).__name__} {op_id!r}")
    return op_id
