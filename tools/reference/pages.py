"""The pages of the reference: the public names by package.

griffe reads them from the source, without importing it.
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
    "limits": "Rate limits",
    "idempotency": "Idempotency keys",
    "queues": "Task queues",
    "outbox": "Outbox",
    "messages": "Mailboxes and chats",
    "completions": "Autocomplete",
    "counters": "Counters",
    "rows": "Row caches",
    "cache": "Cached functions",
    "files": "Files",
    "tallies": "Tallies",
    "telemetry": "Telemetry",
    "errors": "Errors",
}
"""The title of each page, in reading order. Another package has its name as title."""

CORE: Final = {
    "codec": "client",
    "near.options": "rows",
    "durability": "durability",
    "gap": "messages",
    "telemetry": "telemetry",
    "trace": "telemetry",
}
"""The page for the public names of each module of the core."""


@dataclass(frozen=True, slots=True)
class Page:
    """The public names of one package of the library.

    Attributes:
        name: of the package.
        members: its classes and functions, values last.
    """

    name: str
    members: list[griffe.Object]

    @property
    def title(self) -> str:
        """Return the title of the page."""
        return TITLES.get(self.name, self.name.capitalize())

    @property
    def names(self) -> list[str]:
        """Return the names of its members."""
        return [member.name for member in self.members]

    def markdown(self) -> str:
        """Return the page in Markdown."""
        parts = [f"# {self.title}", "Generated from the docstrings. [All names](README.md)"]
        for member in self.members:
            parts += _chapter(member)
        return "\n\n".join(parts) + "\n"


def load_pages() -> list[Page]:
    """Return every page with members."""
    modules: dict[str, str] = runpy.run_path(str(SOURCE / "holdfast" / "exports.py"))["EXPORTS"]
    package = griffe.load(
        "holdfast",
        search_paths=[SOURCE],
        docstring_parser="google",
        docstring_options={"warn_unknown_params": False, "warn_missing_types": False},
    )
    found: dict[str, list[griffe.Object]] = {name: [] for name in TITLES}
    for name, module in modules.items():
        if "._async." in module and name.removeprefix("Async") in modules:
            continue  # its twin says the same
        found.setdefault(_page_of(module), []).append(_target(package[f"{module}.{name}"]))
    return [Page(name, sorted(members, key=_rank)) for name, members in found.items() if members]


def _page_of(module: str) -> str:
    """Return the page of a module; the core has a few public modules."""
    package, _, name = module.partition(".")
    return CORE[name] if package == "core" else package


def _rank(member: griffe.Object) -> tuple[bool, int, str, int]:
    """Return the sort key: classes with methods first, then values."""
    path = member.path
    return "._sync." not in path, path.count("."), member.module.path, member.lineno or 0


def _target(member: griffe.Object | griffe.Alias) -> griffe.Object:
    return member.final_target if isinstance(member, griffe.Alias) else member


def _chapter(member: griffe.Object) -> list[str]:
    """Return the section of a class or function."""
    if isinstance(member, griffe.Function):
        return [f"## {member.name}", f"`{signature(member)}`", *described(member)]
    parts = [f"## {member.name}", *_kinship(member), *described(member)]
    for name, inner in _public(member).items():
        parts += [f"### {member.name}.{name}", f"`{signature(inner)}`", *described(inner)]
    return parts


def _kinship(member: griffe.Object) -> list[str]:
    """Return the bases of an error, or the constructor of a class that users call."""
    if ".errors." in member.path and isinstance(member, griffe.Class):
        return [f"Subclass of {' and '.join(f'`{base}`' for base in member.bases)}."]
    if _is_called(member):
        constructor = _target(member.all_members["__init__"])
        return [f"`{signature(constructor, called=member.name)}`"]
    return []


def _is_called(member: griffe.Object) -> bool:
    """Return whether users call the constructor."""
    sections = member.docstring.parsed if member.docstring else []
    has_arguments = any(section.kind is Kind.parameters for section in sections)
    return has_arguments and "Made by" not in sections[0].value


def _public(member: griffe.Object) -> dict[str, griffe.Object]:
    """Return the public methods and properties, inherited ones included."""
    shown = {}
    for name, inner in member.all_members.items():
        target = _target(inner)
        is_field = target.is_attribute and "property" not in target.labels
        if not name.startswith("_") and not is_field and target.docstring:
            shown[name] = target
    return dict(sorted(shown.items(), key=lambda item: "property" not in item[1].labels))
