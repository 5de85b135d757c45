"""Who takes part: libraries with their versions, and the settings that suit each best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..harness import BenchmarkRun

_UVLOOP: Final = "uvloop==0.23.0"
"""For libraries on asyncio: Holdfast's worker uses it, too."""

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "arq": ("arq==0.28.0", "redis==5.3.1", "hiredis==3.5.0", _UVLOOP),
    "celery": ("celery==5.7.0", "packaging==26.3", "redis==8.1.0", "hiredis==3.5.0"),
    "dramatiq": ("dramatiq==2.2.1", "redis==8.1.0", "hiredis==3.5.0"),
    "huey": ("huey==3.5.4", "redis==8.1.0", "hiredis==3.5.0"),
    "rq": ("rq==3.0.0", "redis==8.1.0", "hiredis==3.5.0"),
    "saq": (
        *("saq==0.26.4", "redis==7.4.1", "hiredis==3.5.0", "typing_extensions==4.16.0"),
        _UVLOOP,
    ),
    "taskiq": (
        *("taskiq==0.13.0", "taskiq-redis==1.2.4", "redis==8.1.0", "hiredis==3.5.0"),
        _UVLOOP,
    ),
}
"""What each rival is installed from, by the name of its adapter: the newest that it allows.

Adapters that are not named here run with the packages of Holdfast.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One contender with one choice of settings.

    Attributes:
        name: for people to read.
        adapter: the module below `contenders`.
        places: tasks that its worker runs at once.
        share: of the work of a round, so that all rounds take about as long.
        options: of the adapter.
        processes: whether it works in several.
    """

    name: str
    adapter: str
    places: int
    share: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)
    processes: bool = False

    def placed(self, places: int, **options: Any) -> Entry:
        """Return the same entry with other settings, under the name of its library."""
        merged = {**self.options, **options}
        return replace(self, name=self.adapter, places=places, options=merged)


HOLDFAST: Final = Entry("holdfast, coroutines", "holdfast", 200)
HOLDFAST_THREADS: Final = Entry("holdfast, 16 threads", "holdfast", 16, 0.5, {"plain": True})
HOLDFAST_ASYNCIO: Final = Entry("holdfast, asyncio", "holdfast_asyncio", 200)
SEED: Final = Entry("RPUSH, BLPOP loop", "seed", 1, 0.5)

BARE: Final = Entry("bare connection", "bare", 64)
"""No rival: what is possible."""

TASKIQ: Final = Entry("taskiq stream, 100 at once", "taskiq", 100, 0.2)
HOLDFAST_QUEUES: Final = replace(HOLDFAST, name="holdfast, 100 queues", options={"queues": 100})

ARQ: Final = Entry("arq, 100 at once", "arq", 100, 0.12)
SAQ: Final = Entry("SAQ, 20 at once", "saq", 20, 0.12)
SAQ_100: Final = Entry("SAQ, 100 at once", "saq", 100, 0.12)

DRAMATIQ: Final = Entry("Dramatiq, 32 threads", "dramatiq", 32, 0.3)
HUEY: Final = Entry("Huey, 4 threads", "huey", 4, 0.3)
CELERY_SOLO: Final = Entry("Celery solo", "celery", 1, 0.06, {"pool": "solo", "prefetch": 64})
CELERY_THREADS: Final = Entry(
    "Celery, 8 threads", "celery", 8, 0.06, {"pool": "threads", "prefetch": 16}
)
CELERY_PREFORK: Final = Entry(
    "Celery, 2 processes", "celery", 2, 0.06, {"pool": "prefork", "prefetch": 64}, processes=True
)
CELERY_PREFORK_1: Final = replace(CELERY_PREFORK, name="Celery, 1 process", places=1)
HOLDFAST_1: Final = Entry("holdfast, 1 process", "holdfast_processes", 1, processes=True)
HOLDFAST_2: Final = replace(HOLDFAST_1, name="holdfast, 2 processes", places=2)
HOLDFAST_CPU: Final = replace(
    HOLDFAST_2, name="holdfast, cpu=True, 2 children", options={"cpu": True}
)
RQ_POOL: Final = Entry("RQ, pool of 2", "rq", 2, options={"pool": True}, processes=True)
RQ: Final = Entry("RQ, SimpleWorker", "rq", 1, 0.02)


def chosen(bench: BenchmarkRun, entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that take part: rivals only on request."""
    return [one for one in entries if one.adapter not in PACKAGES or one.adapter in bench.rivals]
