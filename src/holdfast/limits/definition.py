"""Write and read the stored limits of a limiter, and name its subjects."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.names import Namespace, Unit
from ..core.stored import decoding
from . import keys
from .limit import Limit, checked_limits


def packed_limits(limits: Sequence[Limit]) -> str:
    """Return *limits* as the server stores them, as in `60/60000 90000/60000/tokens`."""
    return " ".join(
        f"{limit.amount}/{limit.per_ms}" + (f"/{limit.name}" if limit.name else "")
        for limit in limits
    )


def parsed_limits(text: bytes, what: str) -> tuple[Limit, ...]:
    """Return the limits that the server stores as *text*.

    Raises:
        DecodeError: *text* has another form. The error names it *what*.
    """
    with decoding(what):
        found = []
        for part in text.decode("ascii").split(" "):
            amount, per_ms, *name = part.split("/")
            found.append(Limit(int(amount), int(per_ms) / 1000, *name[:1]))
        return checked_limits(found)


def subject_unit(namespace: Namespace, limiter: str, subject: str) -> Unit:
    """Return the unit of a *subject*. Its name is the limiter, `/`, and the subject.

    In the name of the limiter, `~` becomes `~0` and `/` becomes `~1`, as in a JSON pointer.
    """
    escaped = limiter.replace("~", "~0").replace("/", "~1")
    return namespace.unit(keys.SUBJECT, f"{escaped}/{subject}")
