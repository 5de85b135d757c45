"""Known vulnerabilities of servers, by version; the table is `vulnerabilities.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Vulnerability:
    """One vulnerability, or several that the same releases fix.

    Attributes:
        ids: such as `CVE-2025-49844`.
        about: what an attacker can do.
        source: the address of the advisory.
        fixed: for each software, the first release of each line with the fix.
    """

    ids: tuple[str, ...]
    about: str
    source: str
    fixed: dict[str, tuple[Version, ...]]


@dataclass(frozen=True, slots=True)
class Unfixed:
    """A vulnerability of a release; *fixed_in* is the release of the same line with the fix."""

    vulnerability: Vulnerability
    fixed_in: Version | None


def parse_version(text: str) -> Version:
    """Return `9.1.2-rc1` as (9, 1, 2); missing numbers are 0."""
    numbers = [int(number) for number in re.findall(r"\d+", text)[:3]]
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major, minor, patch


def version_text(version: Version) -> str:
    """Return a version as text, such as `9.1.2`."""
    return ".".join(map(str, version))


def unfixed_in(software: str, version: Version) -> list[Unfixed]:
    """Return the known vulnerabilities of a release; none if the table lacks the software."""
    found = []
    for vulnerability in vulnerabilities():
        fixed = vulnerability.fixed.get(software, ())
        fixed_in = next((each for each in fixed if each[:2] == version[:2]), None)
        if fixed_in is not None and version < fixed_in:
            found.append(Unfixed(vulnerability, fixed_in))
        elif fixed_in is None and fixed and version < fixed[-1]:
            found.append(Unfixed(vulnerability, None))
    return found


@cache
def vulnerabilities() -> tuple[Vulnerability, ...]:
    """Return the table."""
    text = (resources.files(__package__) / "vulnerabilities.toml").read_text(encoding="utf-8")
    return tuple(
        Vulnerability(
            tuple(each["ids"]),
            each["about"],
            each["source"],
            {
                software: tuple(map(parse_version, versions))
                for software, versions in each["fixed"].items()
            },
        )
        for each in tomllib.loads(text)["vulnerability"]
    )
