"""Who takes part: libraries with their versions, and the settings that suit each best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..harness import BenchmarkRun

_CLIENT: Final = ("redis==8.1.0", "hiredis==3.5.0")

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "pottery": ("pottery==3.0.1", *_CLIENT, "uvloop==0.23.0"),
    "python-redis-lock": ("python-redis-lock==4.0.1", *_CLIENT),
}
"""What each rival is installed from.

redis-py and the textbook run with the packages of Holdfast, and always take part.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One contender with one choice of settings.

    Attributes:
        name: for people to read.
        adapter: the module below `contenders`.
        library: what it needs, of `PACKAGES`; None: nothing that Holdfast has not.
        options: of the adapter.
        share: of the cycles of a round, where their number is fixed, so that rounds take as long.
    """

    name: str
    adapter: str
    library: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    share: float = 1.0


HOLDFAST: Final = Entry("holdfast", "holdfast")
HOLDFAST_ASYNCIO: Final = Entry("holdfast, asyncio", "holdfast_asyncio")
OURS: Final = (HOLDFAST, HOLDFAST_ASYNCIO)

REDIS_PY: Final = Entry("redis-py, poll 100 ms (default)", "redis_py")
REDIS_PY_1_MS: Final = Entry("redis-py, poll 1 ms", "redis_py", options={"sleep": 0.001})
REDIS_PY_ASYNCIO: Final = Entry("redis-py asyncio, one pool", "redis_py_asyncio")
REDIS_PY_ASYNCIO_EACH: Final = Entry(
    "redis-py asyncio, a connection each", "redis_py_asyncio", options={"single": True}
)

PYTHON_REDIS_LOCK: Final = Entry(
    "python-redis-lock, expire", "python_redis_lock", "python-redis-lock"
)
PYTHON_REDIS_LOCK_RENEWED: Final = Entry(
    "python-redis-lock, auto renewal",
    "python_redis_lock",
    "python-redis-lock",
    {"auto_renewal": True},
    0.3,
)
POTTERY: Final = Entry("pottery Redlock", "pottery", "pottery", share=0.2)
POTTERY_ASYNCIO: Final = Entry("pottery AIORedlock", "pottery_asyncio", "pottery", share=0.4)

SEED: Final = Entry("textbook", "seed", share=0.5)
SEED_LOCKED: Final = Entry("textbook, fair with a lock", "seed", options={"kind": "locked"})
SEED_FAIR: Final = Entry("textbook, fair", "seed", options={"kind": "fair"})
SEED_BASIC: Final = Entry("textbook, basic", "seed", options={"kind": "basic"})

BARE: Final = Entry("bare connection", "bare")
"""No rival: what is possible."""

LOCKS: Final = (
    REDIS_PY,
    REDIS_PY_1_MS,
    PYTHON_REDIS_LOCK,
    PYTHON_REDIS_LOCK_RENEWED,
    POTTERY,
    SEED,
)
"""The rivals with blocking calls."""


def chosen(bench: BenchmarkRun, entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that take part; rivals that need an installation only on request."""
    return [one for one in entries if one.library is None or one.library in bench.rivals]
