"""Lua scripts, shipped as package files: one atomic step each.

A file starts with `#!lua`, so that the server itself refuses keys of another slot and, with
`flags=no-writes`, writes. The comment block below it is a contract which a test reads: KEYS with
type, ARGV with unit, what is returned. A line `-- include NAME` stands for a part: the file
`lua/parts/NAME.lua` of the block or, shared by all blocks, of `core`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from importlib.resources.abc import Traversable
from types import MappingProxyType

_INCLUDE = re.compile(r"^-- include (\w+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """One script, ready to be called by its hash.

    Attributes:
        name: `block/verb`, for messages.
        source: what `EVAL` is sent when the server does not know the hash.
        sha1: what `EVALSHA` is sent.
        readonly: whether the server itself lets it change nothing.
        facts: its name, for telemetry.
    """

    name: str
    source: str
    sha1: str
    readonly: bool
    facts: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", MappingProxyType({"script": self.name}))

    @classmethod
    def load(cls, package: str, verb: str) -> Script:
        """The script in `lua/<verb>.lua` of a block's *package*."""
        folder = resources.files(package) / "lua"
        shared = resources.files("holdfast.core") / "lua"
        source = _INCLUDE.sub(
            lambda include: _part(include[1], folder, shared), _read(folder / f"{verb}.lua")
        )
        return cls.of(f"{package.rpartition('.')[2]}/{verb}", source)

    @classmethod
    def of(cls, name: str, source: str) -> Script:
        """The script with this whole *source*."""
        digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
        return cls(name, source, digest, readonly="no-writes" in source.partition("\n")[0])


def _part(name: str, *folders: Traversable) -> str:
    candidates = [folder / "parts" / f"{name}.lua" for folder in folders]
    for part in candidates:
        if part.is_file():
            return _read(part)
    raise FileNotFoundError(f"no part {name}.lua in {', '.join(map(str, folders))}")


def _read(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")
