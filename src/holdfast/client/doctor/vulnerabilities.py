"""Versions of servers with known security holes; the table is `holes.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole, or several that the same releases mend.

    Attributes:
        ids: as `CVE-2025-49844`.
        about: what whoever uses it can do.
        source: where it is told.
        fixed: by software, the first release of each line that mends it.
    """

    ids: tuple[str, ...]
    about: str
    source: str
    fixed: dict[str, tuple[Version, ...]]


@dataclass(frozen=True, slots=True)
class Open:
    """A hole that is open in a server; *mended* is the release of its line that closes it."""

    hole: Hole
    mended: Version | None


def version_of(text: str) -> Version:
    """`9.1.2-rc1` as (9, 1, 2); what is no number is 0."""
    numbers = [int(number) for number in re.findall(r"\d+", text)[:3]]
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major, minor, patch


def shown(version: Version) -> str:
    """As in `9.1.2`."""
    return ".".join(map(str, version))


def open_holes(software: str, version: Version) -> list[Open]:
    """The known holes of a release; none of a software that the table does not know."""
    found = []
    for hole in holes():
        fixed = hole.fixed.get(software, ())
        mended = next((each for each in fixed if each[:2] == version[:2]), None)
        if mended is not None and version < mended:
            found.append(Open(hole, mended))
        elif mended is None and fixed and version < fixed[-1]:
            found.append(Open(hole, None))
    return found


@cache
def holes() -> tuple[Hole, ...]:
    """The table."""
    text = (resources.files(__package__) / "vulnerabilities.toml").read_text(encoding="utf-8")
    return tuple(
        Hole(
            tuple(each["ids"]),
            each["about"],
            each["source"],
            {
                software: tuple(map(version_of, versions))
                for software, versions in each["fixed"].items()
            },
        )
        for each in tomllib.loads(text)["hole"]
    )
