"""Load Lua scripts from package files. Each script is one atomic step on the server.

A file starts with `#!lua`, so that the server refuses keys of another slot, and refuses writes if
`flags=no-writes` follows. The comment block below is the header, which a test reads: KEYS with
their types, ARGV with their units, and the reply. A line `-- include NAME` is replaced by the file
`lua/parts/NAME.lua` of the block or of `core`. Such a part only defines functions and constants.

The names of KEYS in the header define the keys of a call:

- `NAME`: the key that the function `NAME` in the block's `keys.py` returns.
- `NAME_h`, `NAME_m`, `NAME_l`: the first, second and third key that the function `NAME` returns.
- `even`, `odd`: the two keys of the ledger.
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
"""A unit with an empty prefix. Its keys are what follows the prefix in the keys of all units."""


@dataclass(frozen=True, slots=True)
class Script:
    """One script, which is called by its hash.

    Attributes:
        name: `block/verb`, for messages.
        source: source of the script, with its parts.
        sha1: hash of the source, for `EVALSHA`.
        readonly: whether the script has `flags=no-writes`.
        package: package of the block with the `keys.py` of its keys; empty if it has no keys.
        verb: the last part of the name.
        facts: the name as a fact for telemetry.
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
    def load(cls, package: str, verb: str, *, called: str = "") -> Script:
        """Return the script in `lua/<verb>.lua` of a block's *package*.

        Args:
            package: the package.
            verb: name of the file.
            called: the verb in messages and telemetry, for a second script that does the same.
        """
        folder = resources.files(package) / "lua"
        shared = resources.files("holdfast.core") / "lua"
        source = _INCLUDE.sub(
            lambda include: _part(include[1], folder, shared), _read(folder / f"{verb}.lua")
        )
        return cls.of(f"{package.rpartition('.')[2]}/{called or verb}", source, package)

    @classmethod
    def of(cls, name: str, source: str, package: str = "") -> Script:
        """Return the script *name* with this *source*, in which the parts are included."""
        digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
        readonly = "no-writes" in source.partition("\n")[0]
        return cls(name, source, digest, readonly, package)

    def keys(self, unit: Unit, *given: str | bytes) -> tuple[str | bytes, ...]:
        """Return the keys of a call for *unit*, in the order of the header.

        Args:
            unit: the unit of the call.
            given: the keys that depend on more than the unit, such as the key of one row. They come
                last in the header. If the header says `first of`, their number may vary.
        """
        latest = self._latest
        if latest is None or latest[0] is not unit:
            latest = self._bound(unit)
        return (*latest[1], *given) if given else latest[1]

    def key_names(self) -> list[str]:
        """Return the names of KEYS in the header."""
        return _KEY.findall(self.source)

    def _bound(self, unit: Unit) -> tuple[Unit, tuple[str, ...]]:
        """Return *unit* and its keys. Cache them, because most calls are for the same unit."""
        prefix, parts = unit.prefix, self._parts
        if parts is None:
            parts = self._bound_parts()
        latest = unit, tuple([prefix + part for part in parts])
        object.__setattr__(self, "_latest", latest)
        return latest

    def _bound_parts(self) -> tuple[str, ...]:
        """Return `part_of` for all keys that depend only on the unit. Cache the result."""
        names = import_module(f"{self.package}.keys")
        found = [part_of(names, name) for name in self.key_names()]
        parts = tuple(part for part in found if part is not None)
        object.__setattr__(self, "_parts", parts)
        return parts


def part_of(keys: ModuleType, name: str) -> str | None:
    """Return what follows the unit's prefix in the key *name*; None: it depends on more than the
    unit.

    Raises:
        AttributeError: *keys*, the `keys.py` of the block, does not define the key.
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
