"""Which commands may be sent where applications work, and how much each may touch."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from project import lua_rules as rules

MOST: Final = 40_000
"""The most values in one reply: the days of a tally are the longest list."""

BESIDE_SCRIPTS: Final = {
    "CLIENT SETINFO", "EVAL", "EVALSHA", "HELLO", "INFO", "MEMORY USAGE", "PING", "SSUBSCRIBE",
    "SUNSUBSCRIBE", "ZLEXCOUNT", "ZREVRANGE",
}  # fmt: skip
"""Commands that a client sends outside scripts. Add a new one only if its cost is bounded."""

SMALL: Final = {
    r"counter:.*:\d+:[01]": "half of the 1,000 samples of a precision",
    r"queue:.*:throughput": "120 minutes",
    r"feed:.*:(consumers|publishing)": "no more than 100 consumers, and uploads in the budget",
}
"""Hashes that may be read whole: kind and name of a unit, name of the key, and why."""

SWEPT: Final = r"catalog:.*:names"
"""Ranges that may be dropped whole: 10,000 names at most."""

_CONTAINERS: Final = {"CLIENT", "CLUSTER", "CONFIG", "FUNCTION", "MEMORY", "SCRIPT"}


def problem(words: Sequence[str]) -> str:
    """Return what is wrong with a command that `MONITOR` shows; empty: nothing."""
    words = [words[0].upper(), *words[1:]]
    name = " ".join(words[:2]).upper() if words[0] in _CONTAINERS else words[0]
    if name not in {*rules.READS, *rules.WRITES, *rules.KEYLESS, *BESIDE_SCRIPTS}:
        return f"{name} is not among those that may be sent"
    if name in _BOUNDS and not _BOUNDS[name](words):
        return f"{' '.join(words)} has no bound, or one beyond {MOST:,}"
    return ""


def _is_small(words: Sequence[str]) -> bool:
    return any(_is_key_of(small, words[1]) for small in SMALL)


def _is_swept(words: Sequence[str]) -> bool:
    return _is_key_of(SWEPT, words[1])


def _is_key_of(pattern: str, key: str) -> bool:
    """Compare `namespace:{kind:name}:key` without namespace and braces."""
    return (
        re.fullmatch(pattern, key.partition(":")[2].translate({123: None, 125: None})) is not None
    )


def _ranges(words: Sequence[str]) -> bool:
    """Return whether a range is bounded by positions, or by `LIMIT offset count`."""
    if "LIMIT" in words:
        return 0 <= int(words[words.index("LIMIT") + 2]) <= MOST
    first, last = int(words[2]), int(words[3])
    return (first < 0) == (last < 0) and last - first < MOST


def _counts(words: Sequence[str]) -> bool:
    return "COUNT" in words and int(words[words.index("COUNT") + 1]) <= MOST


_BOUNDS: Final[dict[str, Callable[[Sequence[str]], bool]]] = {
    "HGETALL": _is_small,
    "LRANGE": _ranges,
    "XRANGE": _counts,
    "XREVRANGE": _counts,
    "ZRANGE": _ranges,
    "ZREMRANGEBYSCORE": _is_swept,
    "ZREVRANGE": _ranges,
}
"""By command: whether it says how much it brings, or removes."""
