"""Whether all is well, in one look."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from .... import Throughput
from ..gathering import SURVEYED, for_each, stats_of
from ..look import Look
from ..screen import Page, Screen
from ..verdict import verdict

MINUTES: Final = 60

RECENT: Final = 5
"""Whole minutes that a rate is the mean of."""

BUSIEST: Final = 8
"""Queues that are shown here."""


async def show(look: Look) -> dict[str, Any]:
    """All queues together, the busiest ones, the workers and the servers."""
    hf = look.hf
    names = (await hf.queues())[:SURVEYED]
    queues = await stats_of(hf, names)
    throughputs = await for_each(names, lambda name: hf.queue(name).throughput(MINUTES))
    workers, servers = await hf.workers(), await hf.servers()
    throughput = summed(throughputs.values())
    rate, failing = rates(throughput)
    died = sum(minute.dead for minute in throughput)
    waiting = {name: stats.waited(look.at) for name, stats in queues.items()}
    busiest = sorted(names, key=lambda name: (-waiting[name], -queues[name].ready))[:BUSIEST]
    return {
        "verdict": verdict(queues, workers, servers, died, look.at),
        "queues": len(names),
        "surveyed": SURVEYED,
        "ready": sum(stats.ready for stats in queues.values()),
        "delayed": sum(stats.delayed for stats in queues.values()),
        "running": sum(stats.running for stats in queues.values()),
        "dead": sum(stats.dead for stats in queues.values()),
        "oldest": max(waiting.values(), default=0.0),
        "rate": rate,
        "failing": failing,
        "died": died,
        "pace": throughput,
        "workers": len([worker for worker in workers if worker.alive]),
        "places": sum(worker.concurrency for worker in workers if worker.alive),
        "servers": servers,
        "busiest": [
            {"name": name, "stats": queues[name], "waits": waiting[name], "pace": throughputs[name]}
            for name in busiest
        ],
    }


def summed(throughputs: Iterable[list[Throughput]]) -> list[Throughput]:
    """The paces of several queues as one; their last minutes may differ by one."""
    found: dict[Any, Throughput] = {}
    for throughput in throughputs:
        for minute in throughput:
            old = found.get(minute.start, Throughput(minute.start))
            found[minute.start] = Throughput(
                minute.start,
                old.done + minute.done,
                old.retried + minute.retried,
                old.dead + minute.dead,
            )
    return [found[start] for start in sorted(found)][-MINUTES:]


def rates(throughput: list[Throughput]) -> tuple[float, float]:
    """Tasks done a second, and the share of attempts that failed, lately."""
    whole = [
        minute for minute in throughput[:-1] if throughput[-1].start - minute.start <= _RECENTLY
    ]
    now = throughput[-1:]
    done = sum(minute.done for minute in whole)
    failed = sum(minute.retried + minute.dead for minute in whole + now)
    ended = failed + sum(minute.done for minute in whole + now)
    return done / (60 * len(whole)) if whole else 0.0, failed / ended if ended else 0.0


_RECENTLY: Final = timedelta(minutes=RECENT)

SCREEN: Final = Screen("Overview", "", (Page("", show),))
