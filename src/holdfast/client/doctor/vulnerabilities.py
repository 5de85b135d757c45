"""Look up known vulnerabilities of servers, by version, in `vulnerabilities.toml`."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Vulnerability:
    """Describe one vulnerability, or several that the same releases fix.

    Attributes:
        ids: ids of the vulnerabilities, such as `CVE-2025-49844`.
        about: what an attacker can do.
        source: URL of the advisory.
        fixed: software → the first release with the fix, in each release line (such as 7.2).
    """

    ids: tuple[str, ...]
    about: str
    source: str
    fixed: dict[str, tuple[Version, ...]]


@dataclass(frozen=True, slots=True)
class Unfixed:
    """Hold a vulnerability of a release.

    Attributes:
        vulnerability: the vulnerability.
        fixed_in: the first release of the same line with the fix; None if no such release is known.
    """

    vulnerability: Vulnerability
    fixed_in: Version | None


def parse_version(text: str) -> Version:
    """Return the three numbers of a version, such as (9, 1, 2) for `9.1.2-rc1`. Missing numbers are
    0."""
    numbers = [int(number) for number in re.findall(r"\d+", text)[:3]]
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major, minor, patch


def version_text(version: Version) -> str:
    """Return a version as text, such as `9.1.2`."""
    return ".".join(map(str, version))


def unfixed_in(software: str, version: Version) -> list[Unfixed]:
    """Return the known vulnerabilities of a release; empty if the table lacks the software."""
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
    """Return all vulnerabilities in the table."""
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
