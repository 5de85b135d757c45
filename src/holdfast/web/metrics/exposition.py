"""Write a survey in the text formats of Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from ... import QueueStats, ServerFacts, Throughput
from ...inspect.survey import Kind, Survey
from .bounded_labels import BoundedLabel

KINDS: Final[tuple[Kind, ...]] = (
    "queue", "mailbox", "chat", "cached", "row_cache", "file_feed", "tally", "completions",
)  # fmt: skip


def exposition(
    survey: Survey, counters: Mapping[str, int], most: int, accept: str
) -> tuple[bytes, str]:
    """Return the metrics and their media type.

    Args:
        survey: the state of the namespace.
        counters: name of each reported counter → its total in the last hour.
        most: values of one label at most, besides `other`.
        accept: the header Accept of the request: the formats that Prometheus accepts.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_SurveyCollector(survey, counters, most))
    encode, media = choose_encoder(accept)
    return encode(registry), media


class _SurveyCollector(Collector):
    def __init__(self, survey: Survey, counters: Mapping[str, int], most: int) -> None:
        self._survey = survey
        self._counters = counters
        self._most = most

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        survey, most = self._survey, self._most
        yield from _of_queues(survey, most)
        yield from _of_workers(survey)
        yield from _of_locks(survey)
        yield from _of_data(survey, self._counters, most)
        yield from _of_servers(survey)
        known = GaugeMetricFamily(
            "holdfast_units",
            "Names that the server lists, at most 1,000 of a kind.",
            labels=["kind"],
        )
        for kind in KINDS:
            known.add_metric([kind], survey.known[kind])
        yield known


@dataclass(frozen=True, slots=True)
class _QueueMetrics:
    """Holds the numbers of one queue.

    Attributes:
        stats: its tasks by state.
        ended: the attempts that ended in the last whole minute.
        oldest_s: seconds that the oldest ready task has waited.
        workers: workers that serve the queue.
    """

    stats: QueueStats
    ended: Throughput
    oldest_s: float
    workers: int

    @property
    def load(self) -> int:
        stats = self.stats
        return stats.ready + stats.running + stats.delayed + stats.dead


def _of_queues(survey: Survey, most: int) -> Iterator[Metric]:
    found = {
        name: _QueueMetrics(
            stats,
            survey.throughputs[name][0],
            survey.waited(name),
            len(survey.serving(name)),
        )
        for name, stats in survey.queues.items()
    }
    queues = BoundedLabel("queue", found, most, lambda queue: queue.load)
    yield queues.gauges(
        "holdfast_queue_tasks",
        "Tasks of a queue by state.",
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
            "snoozed": lambda queue: queue.ended.snoozed,
            "gave_up": lambda queue: queue.ended.gave_up,
        },
    )
    yield queues.gauge(
        "holdfast_queue_limited",
        "Ready tasks that wait until their limit key has room.",
        lambda queue: queue.stats.limited,
    )
    yield queues.gauge(
        "holdfast_queue_oldest_seconds",
        "Seconds that the oldest ready task has waited.",
        lambda queue: queue.oldest_s,
        merged=max,
    )
    yield queues.gauge(
        "holdfast_queue_paused", "Whether the queue is paused.", lambda queue: queue.stats.paused
    )
    yield queues.gauge(
        "holdfast_queue_workers",
        "Workers that serve the queue.",
        lambda queue: queue.workers,
        merged=max,
    )
    unread = survey.known["queue"] - len(survey.queues)
    yield GaugeMetricFamily("holdfast_queues_unasked", "Queues that were not read.", unread)


def _of_workers(survey: Survey) -> Iterator[Metric]:
    alive = survey.alive
    workers = GaugeMetricFamily("holdfast_workers", "Workers.", labels=["state"])
    workers.add_metric(["alive"], len(alive))
    workers.add_metric(["silent"], len(survey.workers) - len(alive))
    yield workers
    slots = sum(worker.concurrency for worker in alive)
    yield GaugeMetricFamily("holdfast_worker_places", "Tasks that may run at once.", slots)
    running = sum(worker.running for worker in alive)
    yield GaugeMetricFamily("holdfast_worker_running", "Tasks that run now.", running)


def _of_locks(survey: Survey) -> Iterator[Metric]:
    held = GaugeMetricFamily("holdfast_lock_holders", "Permits that are held.", labels=["kind"])
    held.add_metric(["lock"], sum(lock.holder is not None for lock in survey.locks.values()))
    held.add_metric(["rw_lock"], sum(len(one.holders) for one in survey.rw_locks.values()))
    held.add_metric(["semaphore"], sum(len(one.holders) for one in survey.semaphores.values()))
    yield held
    waiting = GaugeMetricFamily("holdfast_lock_waiters", "Waiters for a permit.", labels=["kind"])
    waiting.add_metric(["lock"], sum(len(lock.waiters) for lock in survey.locks.values()))
    waiting.add_metric(["rw_lock"], sum(len(one.waiters) for one in survey.rw_locks.values()))
    waiting.add_metric(["semaphore"], sum(len(one.waiters) for one in survey.semaphores.values()))
    yield waiting


def _of_cached_functions(survey: Survey, most: int) -> Iterator[Metric]:
    functions = BoundedLabel("function", survey.cached_functions, most, lambda one: one.calls)
    yield functions.gauges(
        "holdfast_cached_function_calls",
        "Calls of a cached function in the last 24 hours, by how they were answered.",
        "answer",
        {
            "memory": lambda one: one.near,
            "hit": lambda one: one.hits,
            "stale": lambda one: one.stale_hits,
            "miss": lambda one: one.misses,
            "direct": lambda one: one.direct,
        },
    )
    yield functions.gauge(
        "holdfast_cached_function_loads",
        "Calls of the function to fill the cache in the last 24 hours.",
        lambda one: one.loads,
    )
    yield functions.gauge(
        "holdfast_cached_function_failures",
        "Calls of the function that failed in the last 24 hours.",
        lambda one: one.failures,
    )
    yield functions.gauge(
        "holdfast_cached_function_memory_bytes",
        "Estimate of the memory of the results.",
        lambda one: one.memory,
    )


def _of_data(survey: Survey, counters: Mapping[str, int], most: int) -> Iterator[Metric]:
    yield from _of_cached_functions(survey, most)
    caches = BoundedLabel("cache", survey.row_caches, most, lambda cache: cache.scheduled)
    yield caches.gauges(
        "holdfast_row_cache_rows",
        "Rows of a row cache by state.",
        "state",
        {
            "scheduled": lambda cache: cache.scheduled,
            "due": lambda cache: cache.due,
            "loading": lambda cache: cache.loading,
            "failing": lambda cache: cache.failing,
        },
    )
    yield caches.gauge(
        "holdfast_row_cache_lag_seconds",
        "Seconds by which the most overdue row is late.",
        lambda cache: cache.lag,
        merged=max,
    )
    feeds = BoundedLabel("feed", survey.file_feeds, most, lambda feed: feed.used)
    yield feeds.gauge("holdfast_feed_used_bytes", "Bytes in use.", lambda feed: feed.used)
    yield feeds.gauge(
        "holdfast_feed_budget_bytes", "Bytes that the feed may use.", lambda feed: feed.budget
    )
    yield feeds.gauge(
        "holdfast_feed_files", "Files that a consumer has still to read.", lambda feed: feed.left
    )
    yield feeds.gauge(
        "holdfast_feed_behind_bytes",
        "Bytes by which the slowest consumer is behind.",
        lambda feed: max((each.behind for each in feed.consumers), default=0),
        merged=max,
    )
    tallies = BoundedLabel("tally", survey.tallies, most, lambda lines: lines)
    yield tallies.gauge("holdfast_tally_lines", "Lines counted on all days.", lambda lines: lines)
    hours = BoundedLabel("counter", counters, most, lambda total: total)
    yield hours.gauge("holdfast_counter_hour", "Counted in the last hour.", lambda total: total)


def _of_servers(survey: Survey) -> Iterator[Metric]:
    for name, text, value in _SERVER_GAUGES:
        family = GaugeMetricFamily(f"holdfast_server_{name}", text, labels=["server"])
        for server in survey.servers:
            family.add_metric([server.address], value(server))
        yield family
    evicted = CounterMetricFamily(
        "holdfast_server_evicted", "Keys evicted because memory was full.", labels=["server"]
    )
    for server in survey.servers:
        evicted.add_metric([server.address], server.evicted)
    yield evicted


_SERVER_GAUGES: Final[tuple[tuple[str, str, Callable[[ServerFacts], float]], ...]] = (
    ("memory_bytes", "Memory in use.", lambda server: server.memory),
    (
        "memory_limit_bytes",
        "Memory that the server may use; 0: no limit.",
        lambda server: server.memory_limit or 0,
    ),
    ("keys", "Keys in the database.", lambda server: server.keys),
    ("clients", "Connections of clients.", lambda server: server.clients),
    ("commands_per_second", "Commands per second now.", lambda server: server.commands_per_second),
    ("persists", "Whether the last write to disk succeeded.", lambda server: server.persists),
    (
        "replicas",
        "Replicas that are connected.",
        lambda server: sum(replica.online for replica in server.replicas),
    ),
)
