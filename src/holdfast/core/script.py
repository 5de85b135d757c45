"""Lua scripts, shipped as package files: one atomic step each.

A file starts with `#!lua`, so that the server itself refuses keys of another slot and, with
`flags=no-writes`, writes. The comment block below it is a contract which a test reads: KEYS with
type, ARGV with unit, what is returned. A line `-- include NAME` stands for a part: the file
`lua/parts/NAME.lua` of the block or, shared by all blocks, of `core`; it only defines functions
and constants.

The keys are bound by the names in the header: to the functions of the block's `keys.py` that are
called so, `ready_h` to the first of the keys of `ready`, and `even` and `odd` to the ledger.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from types import MappingProxyType, ModuleType
from typing import Final

from . import ledger
from .names import Unit

_INCLUDE: Final = re.compile(r"^-- include (\w+)\n", re.MULTILINE)
_KEY: Final = re.compile(r"^-- KEYS\[\d+\] +[A-Z]+ +([a-z]\w*)", re.MULTILINE)

_NO_PREFIX: Final = Unit("", "", "", 0)
"""Its keys are the parts that other units put behind their prefixes."""


@dataclass(frozen=True, slots=True)
class Script:
    """One script, ready to be called by its hash.

    Attributes:
        name: `block/verb`, for messages.
        source: what `EVAL` is sent when the server does not know the hash.
        sha1: what `EVALSHA` is sent.
        readonly: whether the server itself lets it change nothing.
        package: of the block whose `keys.py` names its keys; empty: it has none.
        verb: what it does.
        facts: its name, for telemetry.
    """

    name: str
    source: str
    sha1: str
    readonly: bool
    package: str = field(default="", repr=False, compare=False)
    verb: str = field(init=False, repr=False, compare=False)
    facts: Mapping[str, str] = field(init=False, repr=False, compare=False)
    _parts: tuple[str, ...] | None = field(default=None, init=False, repr=False, compare=False)
    _latest: tuple[Unit, tuple[str, ...]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "verb", self.name.rpartition("/")[2])
        object.__setattr__(self, "facts", MappingProxyType({"script": self.name}))

    @classmethod
    def load(cls, package: str, verb: str) -> Script:
        """Return the script in `lua/<verb>.lua` of a block's *package*."""
        folder = resources.files(package) / "lua"
        shared = resources.files("holdfast.core") / "lua"
        source = _INCLUDE.sub(
            lambda include: _part(include[1], folder, shared), _read(folder / f"{verb}.lua")
        )
        return cls.of(f"{package.rpartition('.')[2]}/{verb}", source, package)

    @classmethod
    def of(cls, name: str, source: str, package: str = "") -> Script:
        """Return the script with this whole *source*."""
        digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
        readonly = "no-writes" in source.partition("\n")[0]
        return cls(name, source, digest, readonly, package)

    def keys(self, unit: Unit, *given: str | bytes) -> tuple[str | bytes, ...]:
        """Return its keys for *unit*, in the order of the header.

        Args:
            unit: what it is called for.
            given: the keys that a unit alone does not name, such as that of one row. They are the
                last ones of the header, and if that says `first of`, there may be any number.
        """
        latest = self._latest
        if latest is None or latest[0] is not unit:
            latest = self._bound(unit)
        return (*latest[1], *given) if given else latest[1]

    def key_names(self) -> list[str]:
        """Return the names of KEYS in the header."""
        return _KEY.findall(self.source)

    def _bound(self, unit: Unit) -> tuple[Unit, tuple[str, ...]]:
        """Return *unit* and its keys, and remember them: most calls are for the same unit again."""
        prefix, parts = unit.prefix, self._parts
        if parts is None:
            parts = self._bound_parts()
        latest = unit, tuple([prefix + part for part in parts])
        object.__setattr__(self, "_latest", latest)
        return latest

    def _bound_parts(self) -> tuple[str, ...]:
        """Look up, once, the parts of all keys that the unit alone names."""
        names = import_module(f"{self.package}.keys")
        found = [part_of(names, name) for name in self.key_names()]
        parts = tuple(part for part in found if part is not None)
        object.__setattr__(self, "_parts", parts)
        return parts


def part_of(keys: ModuleType, name: str) -> str | None:
    """Return the part of the key called *name* in a header; None if it takes more than a unit.

    Raises:
        AttributeError: *keys*, the `keys.py` of the block, has no such key.
    """
    if name in ("even", "odd"):
        return ledger.keys(_NO_PREFIX)[name == "odd"]
    several, _, which = name.rpartition("_")
    key = getattr(keys, name, None) or getattr(keys, several or name)
    if key.__code__.co_argcount > 1:
        return None
    part: str | tuple[str, str, str] = key(_NO_PREFIX)
    return part if isinstance(part, str) else part[("h", "m", "l").index(which)]


def _part(name: str, *folders: Traversable) -> str:
    candidates = [folder / "parts" / f"{name}.lua" for folder in folders]
    for part in candidates:
        if part.is_file():
            return _read(part)
    raise FileNotFoundError(f"no part {name}.lua in {', '.join(map(str, folders))}")


def _read(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")
