"""Every key of every block, from its keys.py: name, type, content and lifetime."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from pages import SOURCE, TITLES

from holdfast.core.names import Namespace, Unit

INTRO = """\
# Keys

Generated from the `keys.py` of each block. [Wire format](wire.md) describes how values are written
and what other languages may write.

A *unit* (a queue, a lock, a chat, …) lives in one hash slot; its keys are
`<namespace>:{<kind>:<name>}:<part>`. In namespace and name, all bytes but letters, digits and
``_ . @ + = , / ~ ! $ & ' ( ) # ; < > | ^ -`` are percent-encoded (upper case), and an empty name is
a single `%`. Times are milliseconds since 1970 by the server's clock where nothing else is said.

Any unit may have `ledger:0` and `ledger:1` as well, a HASH each: the operations already applied,
of even and of odd hours; both expire. `<namespace>:{catalog:<kind>}:names` (ZSET, name → when it
was last noted) lists the units of a kind. It is a hint: a name that was not noted for 30 days is
dropped, and of more than 10,000 the one not noted for longest.

`<namespace>:{layout:%}:version` (STRING) has the version of this layout, 1. It never expires. See
[versions](versions.md#what-is-the-layout-version).

With [`durability=`](durability.md) a unit has a `marker` as well, a STRING that is gone again when
the script ends that sets it.
"""


def layout() -> str:
    """The page."""
    parts = [INTRO.rstrip()]
    for path in sorted((SOURCE / "holdfast").glob("*/keys.py"), key=_order):
        parts += _block(import_module(f"holdfast.{path.parent.name}.keys"))
    return "\n\n".join(parts) + "\n"


def _order(path: Any) -> int:
    return [*TITLES].index(path.parent.name)


def _block(module: ModuleType) -> Iterator[str]:
    """A heading, which units there are, what holds for all keys, and a row for each."""
    yield f"## {TITLES[module.__name__.split('.')[1]]}"
    kinds = [
        value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)
    ]
    yield "Units: " + ", ".join(f"`<namespace>:{{{kind}:<name>}}:`" for kind in kinds) + "."
    yield from _paragraphs(inspect.getdoc(module) or "")[1:]
    functions = filter(inspect.isfunction, vars(module).values())
    rows = [_row(function) for function in functions if function.__module__ == module.__name__]
    yield "\n".join(["| part | type | content and lifetime |", "|---|---|---|", *rows])


def _row(function: Callable[..., Any]) -> str:
    unit = Namespace.of("n").unit("kind", "name")
    others = list(inspect.signature(function).parameters)[1:]
    keys = function(unit, *(f"<{name}>" for name in others))
    names = " ".join(f"`{_part(unit, key)}`" for key in ([keys] if isinstance(keys, str) else keys))
    kind, _, text = " ".join(_paragraphs(inspect.getdoc(function) or "")).partition(" ")
    return f"| {names} | {kind} | {text.removeprefix('of ').replace('|', chr(92) + '|')} |"


def _part(unit: Unit, key: str) -> str:
    return re.sub("[0-9a-f]{32}", "<digest>", key.removeprefix(unit.prefix))


def _paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
