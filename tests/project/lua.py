"""Lua files as the tests see them: the promises of the header, the calls and names of the body."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from project.sources import PACKAGE

KEY = re.compile(r"-- KEYS\[(\d+)\] +([A-Z]+) +([a-z]\w*)(?: {2,}(\S.*))?")
ARGUMENT = re.compile(r"-- ARGV\[(\d+)\] +([a-z]+) +(\S.*)")
RETURNS = re.compile(r"-- returns +([a-z]+) +(\S.*)")
INCLUDE = re.compile(r"-- include (\w+)")
CONTINUED = re.compile(r"-- {2,}\S.*")
EXPECTS = re.compile(r"Needs the parts: ([\w, ]+)\.")
FUNCTION = re.compile(r"local function (\w+)\(.*\)")
CONSTANT = re.compile(r"local ([A-Z][A-Z_]*(?:, [A-Z][A-Z_]*)*) = (.+)")

KEYWORDS = re.compile(
    "and|break|do|else|elseif|end|false|for|function|if|in|local|nil|not|or|repeat|return|then|"
    "true|until|while"
)
GLOBALS = re.compile(
    "KEYS|ARGV|redis|cjson|cmsgpack|math|string|table|error|ipairs|pcall|struct|tonumber|type|"
    "unpack"
)
TOKEN = re.compile(r"[A-Za-z_]\w*|\d+\.?\d*|\.\.|==|~=|<=|>=|\S")


@dataclass(frozen=True)
class Entry:
    """One KEYS or ARGV line of a header."""

    number: int
    type: str
    name: str
    text: str


@dataclass(frozen=True)
class LuaFile:
    """One script, or one part."""

    name: str
    source: str
    folder: Path

    @classmethod
    def read(cls, path: Path) -> LuaFile:
        """Read the file at *path*; its name is `block/verb`, or `block/parts/name`."""
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = "/".join(part for part in parts if part != "lua")
        return cls(name, path.read_text(encoding="utf-8"), path.parent)

    @cached_property
    def header(self) -> list[str]:
        """Return the comment at its start."""
        return list(takewhile(re.compile("--|#!").match, self.source.splitlines()))

    @cached_property
    def body(self) -> list[str]:
        """Return the lines after the header."""
        return self.source.strip().splitlines()[len(self.header) :]

    @cached_property
    def keys(self) -> list[Entry]:
        """Return the declared keys."""
        found = filter(None, map(KEY.fullmatch, self.header))
        return [Entry(int(m[1]), m[2], m[3], m[4] or "") for m in found]

    @cached_property
    def arguments(self) -> list[Entry]:
        """Return the declared arguments; the name is the first word of the description."""
        found = filter(None, map(ARGUMENT.fullmatch, self.header))
        return [Entry(int(m[1]), m[2], m[3].split()[0], m[3]) for m in found]

    @cached_property
    def includes(self) -> list[str]:
        """Return the names of the included parts, in order."""
        return [m[1] for m in map(INCLUDE.fullmatch, self.source.splitlines()) if m]

    @cached_property
    def expects(self) -> list[str]:
        """Return the parts that this part needs before it."""
        comment = " ".join(line.removeprefix("-- ") for line in self.header)
        expected = EXPECTS.search(comment)
        return expected[1].split(", ") if expected else []

    @cached_property
    def top_level(self) -> list[str]:
        """Return the lines outside of all functions, without comments."""
        lines, inside = [], False
        for line in map(str.rstrip, code(self.source).splitlines()):
            if inside:
                inside = line != "end"
            else:
                inside = FUNCTION.fullmatch(line) is not None
                lines.append(line)
        return [line for line in lines if line]

    @cached_property
    def defines(self) -> set[str]:
        """Return the functions and constants that it defines outside of all functions."""
        functions = {found[1] for found in map(FUNCTION.fullmatch, self.top_level) if found}
        constants = [found[1] for found in map(CONSTANT.fullmatch, self.top_level) if found]
        return functions | {name for names in constants for name in names.split(", ")}

    def part(self, name: str) -> LuaFile:
        """Return the part called *name*, of this block or of the core."""
        parts = self.folder if self.folder.name == "parts" else self.folder / "parts"
        own = parts / f"{name}.lua"
        return LuaFile.read(own if own.exists() else PACKAGE / f"core/lua/parts/{name}.lua")

    @cached_property
    def whole(self) -> str:
        """Header and body with the parts in their places, as the server gets them."""
        line = re.compile(rf"^{INCLUDE.pattern}\n", re.MULTILINE)
        return line.sub(lambda found: self.part(found[1]).source, self.source)


def scripts() -> list[LuaFile]:
    """Return every script of the package."""
    return [LuaFile.read(path) for path in sorted(PACKAGE.glob("**/lua/*.lua"))]


def parts() -> list[LuaFile]:
    """Return every part of the package."""
    return [LuaFile.read(path) for path in sorted(PACKAGE.glob("**/lua/parts/*.lua"))]


def code(source: str) -> str:
    """Return *source* without its comments."""
    return re.sub(r"^#!.*|--.*", "", source)


def last_name(expression: str) -> str:
    """Return the name of a key in *expression*: `due` of `queue.due[priority]`."""
    return re.sub(r"\[[^\]]*\]", "", expression).rpartition(".")[2]


def calls(source: str) -> Iterator[list[str]]:
    """Return the arguments of every `redis.call`, as they are written."""
    source = code(source)
    for found in re.finditer(r"redis\.p?call\(", source):
        yield _arguments(source[found.end() :])


def _arguments(text: str) -> list[str]:
    """Return the arguments at the start of *text*, up to the closing bracket."""
    depth, quoted, arguments = 0, False, [""]
    for sign in text:
        quoted ^= sign == "'"
        if not quoted and not depth and sign in "),":
            if sign == ")":
                return [argument.strip() for argument in arguments]
            arguments.append("")
            continue
        if not quoted:
            depth += (sign in "([{") - (sign in ")]}")
        arguments[-1] += sign
    raise ValueError(f"no closing bracket in {text[:40]!r}")


def unquoted(source: str) -> str:
    """Return *source* without comments, and with 0 for every string."""
    return re.sub(r"'(?:\\.|[^'\\])*'", "0", code(source))


def words(source: str) -> list[str]:
    """Return every quoted word in capitals: commands and their options."""
    return re.findall(r"'([A-Z]{2,})'", code(source))


@dataclass
class Names:
    """What a piece of Lua defines, and what it uses without having defined it before."""

    defined: set[str]
    free: set[str]

    @classmethod
    def of(cls, source: str) -> Names:
        """Return the names in *source*. Scopes are ignored: a name counts from its first use on."""
        tokens = TOKEN.findall(unquoted(source))
        found = cls(set(), set())
        braces, state = 0, ""
        for i, token in enumerate(tokens):
            before, after = tokens[i - 1] if i else "", (tokens[i + 1 : i + 2] or [""])[0]
            braces += (token == "{") - (token == "}")
            if token in ("local", "for", "function"):
                state = "names" if token != "function" else "parameters"
            elif not re.match(r"[A-Za-z_]", token) or KEYWORDS.fullmatch(token):
                # `local a, b =`, `for i, x in` and `function f(a, b)` define up to here.
                if token in ("=", "in", ")") or (token not in ",()" and state):
                    state = ""
            elif before in (".", ":") or (braces and after == "="):
                continue
            elif state:
                found.defined.add(token)
                state = "" if state == "names" and after not in (",", "=", "in") else state
            elif token not in found.defined and not GLOBALS.fullmatch(token):
                found.free.add(token)
        return found
