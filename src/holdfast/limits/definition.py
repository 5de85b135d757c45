"""Write and read the stored limits of a limiter, and make the stored names of its subjects."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from ..core.names import Namespace, Unit, plain_text
from ..core.stored import decoding
from ..errors import InvalidName
from . import keys
from .limit import Limit, checked_limits

MAX_SUBJECT_BYTES: Final = 100
"""A longer subject is stored as its digest."""


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

    Raises:
        TypeError: *subject* is not a str.
    """
    escaped = limiter.replace("~", "~0").replace("/", "~1")
    if not isinstance(subject, str):
        raise TypeError(f"a subject must be a str, got {type(subject).__name__} {subject!r}")
    subject = plain_text(subject)
    encoded = subject.encode("utf-8", "surrogatepass")
    if len(encoded) <= MAX_SUBJECT_BYTES:
        with suppress(InvalidName):  # an unpaired surrogate, or the whole name is too long
            return namespace.unit(keys.SUBJECT, f"{escaped}/{subject}")
    digest = hashlib.blake2b(encoded, digest_size=16).hexdigest()
    return namespace.unit(keys.SUBJECT, f"{escaped}/~{digest}")
