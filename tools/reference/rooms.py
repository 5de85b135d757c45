"""The public names, room by room, as pages.

They are read by griffe, which looks at the source and imports nothing of it.
"""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import griffe
from griffe import DocstringSectionKind as Kind
from members import described, signature

SOURCE: Final = Path(__file__).resolve().parents[2] / "src"

TITLES: Final = {
    "client": "The client",
    "durability": "Durability",
    "locks": "Locks and semaphores",
    "queues": "Task queues",
    "messages": "Mailboxes and chats",
    "completions": "Autocomplete",
    "counters": "Counters",
    "rows": "Row caches",
    "files": "Files",
    "tallies": "Tallies",
    "telemetry": "Telemetry",
    "errors": "Errors",
}
"""In the order in which one reads them. A room that is not here has its name as title."""

CORE: Final = {
    "codec": "client",
    "durability": "durability",
    "telemetry": "telemetry",
    "trace": "telemetry",
}
"""Where the public names of the core are shown, by their modules."""


@dataclass(frozen=True, slots=True)
class Room:
    """The public names of one package of the library.

    Attributes:
        name: of the package.
        members: what it shows, first what people hold in their hands, then its values.
    """

    name: str
    members: list[griffe.Object]

    @property
    def title(self) -> str:
        """Return the title for people."""
        return TITLES.get(self.name, self.name.capitalize())

    @property
    def names(self) -> list[str]:
        """Return the names of its members."""
        return [member.name for member in self.members]

    def page(self) -> str:
        """Return the page in Markdown."""
        parts = [f"# {self.title}", "Generated from the docstrings. [All names](README.md)"]
        for member in self.members:
            parts += _chapter(member)
        return "\n\n".join(parts) + "\n"


def rooms() -> list[Room]:
    """Return every room that is not empty."""
    homes: dict[str, str] = runpy.run_path(str(SOURCE / "holdfast" / "exports.py"))["EXPORTS"]
    package = griffe.load(
        "holdfast",
        search_paths=[SOURCE],
        docstring_parser="google",
        docstring_options={"warn_unknown_params": False, "warn_missing_types": False},
    )
    found: dict[str, list[griffe.Object]] = {name: [] for name in TITLES}
    for name, home in homes.items():
        if "._async." in home and name.removeprefix("Async") in homes:
            continue  # its twin says the same
        found.setdefault(_room(home), []).append(_target(package[f"{home}.{name}"]))
    return [Room(name, sorted(members, key=_rank)) for name, members in found.items() if members]


def _room(home: str) -> str:
    """Return the package at the top; for the core, the module that users see."""
    package, _, module = home.partition(".")
    return CORE[module] if package == "core" else package


def _rank(member: griffe.Object) -> tuple[bool, int, str, int]:
    """Return the rank of a member: the block itself comes before its parts."""
    home = member.path
    return "._sync." not in home, home.count("."), member.module.path, member.lineno or 0


def _target(member: griffe.Object | griffe.Alias) -> griffe.Object:
    return member.final_target if isinstance(member, griffe.Alias) else member


def _chapter(member: griffe.Object) -> list[str]:
    """Return the chapter of a class with all its members, or of a function."""
    if isinstance(member, griffe.Function):
        return [f"## {member.name}", f"`{signature(member)}`", *described(member)]
    parts = [f"## {member.name}", *_kinship(member), *described(member)]
    for name, inner in _public(member).items():
        parts += [f"### {member.name}.{name}", f"`{signature(inner)}`", *described(inner)]
    return parts


def _kinship(member: griffe.Object) -> list[str]:
    """Return the base classes of an error, or the call signature of a class."""
    if ".errors." in member.path and isinstance(member, griffe.Class):
        return [f"Caught as {' and '.join(f'`{base}`' for base in member.bases)} as well."]
    if _is_called(member):
        constructor = _target(member.all_members["__init__"])
        return [f"`{signature(constructor, called=member.name)}`"]
    return []


def _is_called(member: griffe.Object) -> bool:
    """Return whether users call the class, instead of a method that returns it."""
    sections = member.docstring.parsed if member.docstring else []
    has_arguments = any(section.kind is Kind.parameters for section in sections)
    return has_arguments and "Made by" not in sections[0].value


def _public(member: griffe.Object) -> dict[str, griffe.Object]:
    """Return the public members, including inherited ones, without fields."""
    shown = {}
    for name, inner in member.all_members.items():
        target = _target(inner)
        is_field = target.is_attribute and "property" not in target.labels
        if not name.startswith("_") and not is_field and target.docstring:
            shown[name] = target
    return dict(sorted(shown.items(), key=lambda item: "property" not in item[1].labels))
