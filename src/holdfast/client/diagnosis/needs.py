"""What a user of Holdfast needs to be allowed, and what it does not; see `acl_rule`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...core.names import Unit

Command = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """A command that Holdfast sends, in a form that changes nothing.

    Attributes:
        told: as a finding names it.
        command: on a unit that is not there.
        topology: where it is needed; empty: everywhere.
    """

    told: str
    command: Callable[[Unit], Command]
    topology: str = ""


def _on_key(*words: str) -> Need:
    """A command on a key of the unit: the first word, the key, the others."""
    name, *others = words
    return Need(f"{name} on its keys", lambda unit: (name, unit.key("nothing"), *others))


NEEDED: Final = (
    Need("TIME", lambda _: ("TIME",)),
    Need("INFO", lambda _: ("INFO", "server")),
    Need("WAIT", lambda _: ("WAIT", 0, 0)),
    Need("EVAL", lambda unit: ("EVAL", "#!lua flags=no-writes\nreturn 1", 1, unit.key("nothing"))),
    Need("SPUBLISH on its channels", lambda unit: ("SPUBLISH", unit.key("nothing"), "")),
    Need("CLUSTER SLOTS", lambda _: ("CLUSTER", "SLOTS"), "cluster"),
    *(
        _on_key(*words)
        for words in (
            ("EXISTS",),
            ("GET",),
            ("HGET", "field"),
            ("LRANGE", "0", "0"),
            ("SISMEMBER", "member"),
            ("XRANGE", "-", "+"),
            ("ZSCORE", "member"),
            ("PTTL",),
            ("UNLINK",),
            ("EXPIRE", "1"),
            ("HDEL", "field"),
            ("LPOP",),
            ("SREM", "member"),
            ("XTRIM", "MAXLEN", "0"),
            ("ZREM", "member"),
        )
    ),
)
"""One of each kind: who may these may the others, unless somebody has taken pains to forbid one."""

BEYOND: Final[tuple[tuple[str, Callable[[Unit], Command]], ...]] = (
    ("use keys outside its namespace", lambda unit: ("EXISTS", unit.key("nothing"))),
    ("administer the server", lambda _: ("ACL", "USERS")),
)
"""What nobody needs."""
