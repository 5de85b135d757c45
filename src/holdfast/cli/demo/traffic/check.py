"""Whether the server has what the players noted, in sentences about what it has otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .names import starting

Counts = dict[tuple[str, int], int]
"""By page and precision."""


def missed(hits: Mapping[str, int], counted: Counts) -> Iterator[str]:
    """Counts of the server that are not what was added, in sentences."""
    for (page, precision), count in counted.items():
        if count != hits[page]:
            yield f"{page} had {hits[page]:,} hits; in samples of {precision} s are {count:,}"


def misfound(members: set[str], found: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Searches whose results are not exactly the members of that beginning, in sentences."""
    for prefix, names in found.items():
        if sorted(names) != sorted(starting(members, prefix)):
            yield f"a search for {prefix!r} finds others than the members of that name"


def misdelivered(mails: Mapping[str, int], received: Mapping[str, int]) -> Iterator[str]:
    """People who did not get exactly the mails that were written to them, in sentences."""
    for name, count in received.items():
        if count != mails.get(name, 0):
            yield f"{name} was written {mails.get(name, 0):,} times, and has {count:,} mails"
