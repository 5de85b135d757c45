"""What was found, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from ... import QueueStats, ServerFacts, Throughput
from .bounds import Bounded
from .survey import Survey


def exposition(survey: Survey, most: int, accept: str) -> tuple[bytes, str]:
    """The text of a page, and what it is.

    Args:
        survey: what was found.
        most: values of one label at most.
        accept: the header of the request: which formats Prometheus knows.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Found(survey, most))
    encode, media = choose_encoder(accept)
    return encode(registry), media


class _Found(Collector):
    def __init__(self, survey: Survey, most: int) -> None:
        self._survey = survey
        self._most = most

    def collect(self) -> Iterator[Metric]:
        """All families."""
        survey, most = self._survey, self._most
        yield from _of_queues(survey, most)
        yield from _of_workers(survey)
        yield from _of_locks(survey)
        yield from _of_data(survey, most)
        yield from _of_servers(survey)
        known = GaugeMetricFamily(
            "holdfast_units", "Names that are listed, at most 1,000 of a kind.", labels=["kind"]
        )
        for kind, count in survey.known.items():
            known.add_metric([kind], count)
        yield known


@dataclass(frozen=True, slots=True)
class _Queue:
    """One queue: its numbers, what ended in the last whole minute, who serves it."""

    stats: QueueStats
    ended: Throughput
    oldest_s: float
    workers: int

    @property
    def load(self) -> int:
        stats = self.stats
        return stats.ready + stats.running + stats.delayed + stats.dead


def _of_queues(survey: Survey, most: int) -> Iterator[Metric]:
    serving = [worker for worker in survey.workers if worker.alive]
    found = {
        name: _Queue(
            stats,
            survey.throughputs[name][0],
            stats.waited(survey.at),
            sum(name in worker.queues for worker in serving),
        )
        for name, stats in survey.queues.items()
    }
    queues = Bounded("queue", found, most, lambda queue: queue.load)
    yield queues.gauges(
        "holdfast_queue_tasks",
        "Tasks of a queue, by where they are.",
        "state",
        {
            "ready": lambda queue: queue.stats.ready,
            "delayed": lambda queue: queue.stats.delayed,
            "running": lambda queue: queue.stats.running,
            "dead": lambda queue: queue.stats.dead,
        },
    )
    yield queues.gauges(
        "holdfast_queue_ended",
        "Attempts that ended within the last whole minute.",
        "outcome",
        {
            "done": lambda queue: queue.ended.done,
            "retried": lambda queue: queue.ended.retried,
            "dead": lambda queue: queue.ended.dead,
        },
    )
    yield queues.gauge(
        "holdfast_queue_oldest_seconds",
        "For how long the first in line waits.",
        lambda queue: queue.oldest_s,
        merged=max,
    )
    yield queues.gauge(
        "holdfast_queue_paused", "Whether nothing is claimed.", lambda queue: queue.stats.paused
    )
    yield queues.gauge(
        "holdfast_queue_workers", "Workers that serve it.", lambda queue: queue.workers, merged=max
    )
    unasked = survey.known["queue"] - len(survey.queues)
    yield GaugeMetricFamily("holdfast_queues_unasked", "Queues that are not told of.", unasked)


def _of_workers(survey: Survey) -> Iterator[Metric]:
    alive = [worker for worker in survey.workers if worker.alive]
    workers = GaugeMetricFamily("holdfast_workers", "Workers.", labels=["state"])
    workers.add_metric(["alive"], len(alive))
    workers.add_metric(["silent"], len(survey.workers) - len(alive))
    yield workers
    places = sum(worker.concurrency for worker in alive)
    yield GaugeMetricFamily("holdfast_worker_places", "Tasks that may run at once.", places)
    running = sum(worker.running for worker in alive)
    yield GaugeMetricFamily("holdfast_worker_running", "Tasks that run.", running)


def _of_locks(survey: Survey) -> Iterator[Metric]:
    held = GaugeMetricFamily("holdfast_lock_holders", "Places that are held.", labels=["kind"])
    held.add_metric(["lock"], sum(lock.holder is not None for lock in survey.locks.values()))
    held.add_metric(["semaphore"], sum(len(one.holders) for one in survey.semaphores.values()))
    yield held
    waiting = GaugeMetricFamily("holdfast_lock_waiters", "Who waits for one.", labels=["kind"])
    waiting.add_metric(["lock"], sum(len(lock.waiters) for lock in survey.locks.values()))
    waiting.add_metric(["semaphore"], sum(len(one.waiters) for one in survey.semaphores.values()))
    yield waiting


def _of_data(survey: Survey, most: int) -> Iterator[Metric]:
    caches = Bounded("cache", survey.caches, most, lambda cache: cache.scheduled)
    yield caches.gauges(
        "holdfast_row_cache_rows",
        "Rows of a row cache that are refreshed, and of these some.",
        "state",
        {
            "scheduled": lambda cache: cache.scheduled,
            "due": lambda cache: cache.due,
            "loading": lambda cache: cache.loading,
            "failing": lambda cache: cache.failing,
        },
    )
    yield caches.gauge(
        "holdfast_row_cache_lag_seconds", "Of the latest row.", lambda cache: cache.lag, merged=max
    )
    feeds = Bounded("feed", survey.feeds, most, lambda feed: feed.used)
    yield feeds.gauge("holdfast_feed_used_bytes", "Of its budget.", lambda feed: feed.used)
    yield feeds.gauge("holdfast_feed_budget_bytes", "It may use.", lambda feed: feed.budget)
    yield feeds.gauge("holdfast_feed_files", "Somebody has to read.", lambda feed: feed.left)
    yield feeds.gauge(
        "holdfast_feed_behind_bytes",
        "How far the last of its consumers is behind.",
        lambda feed: max((each.behind for each in feed.consumers), default=0),
        merged=max,
    )
    tallies = Bounded("tally", survey.tallies, most, lambda lines: lines)
    yield tallies.gauge("holdfast_tally_lines", "Lines counted, of all days.", lambda lines: lines)
    counters = Bounded("counter", survey.counters, most, lambda total: total)
    yield counters.gauge("holdfast_counter_hour", "Added within the hour.", lambda total: total)


def _of_servers(survey: Survey) -> Iterator[Metric]:
    for name, text, value in _SERVER_GAUGES:
        family = GaugeMetricFamily(f"holdfast_server_{name}", text, labels=["server"])
        for server in survey.servers:
            family.add_metric([server.address], value(server))
        yield family
    evicted = CounterMetricFamily(
        "holdfast_server_evicted", "Keys dropped for want of memory.", labels=["server"]
    )
    for server in survey.servers:
        evicted.add_metric([server.address], server.evicted)
    yield evicted


_SERVER_GAUGES: Final[tuple[tuple[str, str, Callable[[ServerFacts], float]], ...]] = (
    ("memory_bytes", "Used.", lambda server: server.memory),
    ("memory_limit_bytes", "It may use; 0: no limit.", lambda server: server.memory_limit or 0),
    ("keys", "In the database.", lambda server: server.keys),
    ("clients", "Connections.", lambda server: server.clients),
    ("commands_per_second", "At the moment.", lambda server: server.commands_per_second),
    ("persists", "Whether it can write to its disk.", lambda server: server.persists),
    (
        "replicas",
        "That follow it.",
        lambda server: sum(replica.online for replica in server.replicas),
    ),
)
