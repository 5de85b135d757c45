"""`/metrics`: who may read it, what it says, and how much at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.routing import Mount

from conftest import Site
from faults.servers import Server
from holdfast import AsyncHoldfast, Holdfast, Limit, TaskRegistry
from holdfast.web import Limits, Passes, metrics
from holdfast.web.metrics.bounded_labels import OTHER, BoundedLabel
from web.dashboard.sample_blocks import HOSTILE, fill_blocks
from web.dashboard.test_round_trips import CALLS, GROWING
from web.gateway.test_gateway_routes import is_problem
from web.running import SECRET, RunningApp, opened

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

QUEUES = 300


def read(answer: httpx.Response) -> Samples:
    """Name and labels of each sample, and its value."""
    assert answer.status_code == 200, answer.text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def scraped(live: RunningApp) -> Samples:
    """Return the samples that Prometheus gets with the pass of a viewer."""
    return read(scraper(live).get("/metrics"))


def scraper(live: RunningApp, **headers: str) -> httpx.Client:
    """Return a client with the pass of a viewer."""
    return live.of(None, Authorization=f"Bearer {live.passes.issue('prom', 'viewer')}", **headers)


def at(samples: Samples, name: str, **labels: str) -> float:
    """Return the value of one sample."""
    return samples[name, frozenset(labels.items())]


def labels_of(samples: Samples, label: str) -> set[str]:
    """Return all values of a label."""
    return {dict(labels)[label] for _, labels in samples if label in dict(labels)}


def test_a_queue_with_partitions_is_one_queue(live: RunningApp) -> None:
    task = TaskRegistry().task(queue="crowd", name="send")(_send)
    live.hf.queue("crowd").repartition(3)
    live.hf.enqueue_many([task.call(n) for n in range(300)])
    found = scraped(live)
    assert at(found, "holdfast_queue_tasks", queue="crowd", state="ready") == 300
    assert not {queue for queue in labels_of(found, "queue") if queue.startswith("crowd/")}


def test_it_shows_the_state_of_everything(live: RunningApp) -> None:
    """Of every block, in each topology, whatever things are called."""
    fill_blocks(live.hf)
    task = TaskRegistry().task(queue=HOSTILE, name="send")(_send)
    live.hf.enqueue_many([task.call(n) for n in range(3)])
    live.hf.enqueue(task.call(3).options(delay=3600.0))
    with live.hf.lock("held").hold():
        found = scraped(live)
    assert at(found, "holdfast_queue_tasks", queue=HOSTILE, state="ready") == 3
    assert at(found, "holdfast_queue_tasks", queue=HOSTILE, state="delayed") == 1
    assert at(found, "holdfast_queue_workers", queue=HOSTILE) == 0
    assert at(found, "holdfast_lock_holders", kind="lock") >= 1
    assert {name for name, _ in found} >= {
        *("holdfast_queue_ended", "holdfast_queue_oldest_seconds", "holdfast_queue_paused"),
        "holdfast_queue_limited",
        *("holdfast_workers", "holdfast_worker_places", "holdfast_worker_running"),
        *("holdfast_lock_waiters", "holdfast_row_cache_rows", "holdfast_row_cache_lag_seconds"),
        *("holdfast_feed_used_bytes", "holdfast_feed_files", "holdfast_feed_behind_bytes"),
        *("holdfast_tally_lines", "holdfast_units", "holdfast_server_memory_bytes"),
        "holdfast_server_evicted_total",
    }
    for kind in ("queue", "mailbox", "chat", "row_cache", "file_feed", "tally", "completions"):
        assert at(found, "holdfast_units", kind=kind) >= 1


def _send(one: int) -> None: ...


def test_ended_tasks_are_counted_by_outcome(live: RunningApp) -> None:
    """Within the last whole minute: here, none did."""
    live.hf.queue("email").pause()
    found = scraped(live)
    assert {value for (name, _), value in found.items() if name == "holdfast_queue_ended"} <= {0.0}


NOBODY = {"nobody": {}, "forged": {"Authorization": "Bearer forged"}}


@pytest.mark.parametrize("headers", NOBODY.values(), ids=NOBODY)
def test_metrics_need_a_pass(live: RunningApp, headers: dict[str, str]) -> None:
    """Answer 401 without a pass, and with a token of the gateway."""
    answer = live.of(None, **headers).get("/metrics")
    assert (answer.status_code, is_problem(answer)) == (401, True)
    assert live.of("jill").get("/metrics").status_code == 401
    passed = {"Cookie": f"holdfast_pass={live.passes.issue('ann', 'operator')}"}
    assert live.of(None, **passed).get("/metrics").status_code == 401


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_it_is_for_this_host_and_for_reading(live: RunningApp, method: str) -> None:
    """Refuse a foreign Host for every role, and every method except GET."""
    answer = scraper(live, Host="evil.test").request(method, "/metrics")
    assert (answer.status_code, is_problem(answer)) == (421, True)
    if method != "GET":
        assert scraper(live).request(method, "/metrics").status_code == 405
    answer = scraper(live, Origin="https://evil.test").request(method, "/metrics")
    assert answer.status_code == (200 if method == "GET" else 403)


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_each_role_reads_it(live: RunningApp, role: Any) -> None:
    client = live.of(None, Authorization=f"Bearer {live.passes.issue('ann', role)}")
    assert client.get("/metrics").headers["content-type"].startswith("text/plain; version=")


def test_who_asks_too_often_waits(standalone: Server) -> None:
    """As with all that a visitor asks for."""
    with opened(standalone.url, "metrics-rate", Limits(user=Limit(2, per=2_000))) as live:
        answers = [scraper(live).get("/metrics").status_code for _ in range(3)]
    assert answers == [200, 200, 429]


async def test_it_can_be_mounted_and_shows_chosen_counters(site: Site) -> None:
    """Of those only: who knows what others are called after."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        await hf.counter("hits").add(5)
        await hf.counter("secret").add(7)
        passes = Passes(SECRET)
        app = metrics(hf, access=passes, counters=["hits", "nowhere"])
        outer = Starlette(routes=[Mount("/ops", app), Mount("/metrics", app)])
        headers = {"Authorization": f"Bearer {passes.issue('prom', 'viewer')}"}
        transport = httpx.ASGITransport(app=outer)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.get("/ops/metrics", headers=headers)
            assert at(read(answer), "holdfast_counter_hour", counter="hits") == 5
            assert "secret" not in answer.text
            mounted = await client.get("/metrics", headers=headers, follow_redirects=True)
            assert at(read(mounted), "holdfast_counter_hour", counter="hits") == 5
            assert (await client.get("/ops/elsewhere", headers=headers)).status_code == 404


@pytest.mark.parametrize(("most", "counters"), [(0, []), (251, []), (1, ["a", "b"])])
async def test_bounds_are_checked(site: Site, most: int, counters: list[str]) -> None:
    """Wrong bounds are an error when the application is created."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        with pytest.raises(ValueError, match="most"):
            metrics(hf, access=Passes(SECRET), most=most, counters=counters)


async def test_a_server_that_is_away_is_a_problem() -> None:
    """Which Prometheus takes for what it is."""
    async with AsyncHoldfast.from_url("redis://127.0.0.1:1") as hf:
        passes = Passes(SECRET)
        transport = httpx.ASGITransport(app=metrics(hf, access=passes))
        headers = {"Authorization": f"Bearer {passes.issue('prom', 'viewer')}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.get("/metrics", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")


@pytest.fixture(scope="module")
def quiet() -> Iterator[Server]:
    """Start a server that no other test uses."""
    with Server() as server:
        yield server


@pytest.fixture(scope="module")
def crowded(quiet: Server) -> Iterator[RunningApp]:
    """More queues than labels, and names of users everywhere."""
    with opened(quiet.url, "crowded") as live:
        calls = []
        for n in range(QUEUES):
            task = TaskRegistry().task(queue=f"queue-{n:03}", name="send")(_send)
            calls += [task.call(one) for one in range(1 + (n % 7 == 0))]
        live.hf.enqueue_many(calls)
        for n in range(70):
            live.hf.mailbox(f"user-{n}").send("hi", sender=f"user-{n}")
            live.hf.counter(f"user-{n}").add(1)
            live.hf.row_cache(f"cache-{n:02}").schedule("user-1", every=60.0)
        with live.hf.lock_all([f"user-{n}" for n in range(70)]).hold():
            yield live


def test_labels_are_bounded_with_hundreds_of_queues(crowded: RunningApp) -> None:
    """Those with most to do have their own; the others are one, and nothing is lost in the sum."""
    found = scraped(crowded)
    queues = labels_of(found, "queue")
    assert len(queues) == 51
    ready = {
        dict(labels)["queue"]: value
        for (name, labels), value in found.items()
        if name == "holdfast_queue_tasks" and ("state", "ready") in labels
    }
    unasked = at(found, "holdfast_queues_unasked")
    assert unasked == QUEUES - 250
    busy = sum(value == 2 for name, value in ready.items() if name != OTHER)
    assert busy >= 35  # all those of the 250 that have two
    assert sum(ready.values()) == 250 + busy
    assert not [text for text in {str(each) for each in found} if "user-" in text]


def test_it_makes_few_calls(crowded: RunningApp, quiet: Server) -> None:
    """As few as a page of the dashboard: no more than 20 round trips, as 64 travel together."""
    client = scraper(crowded)
    assert client.get("/metrics").status_code == 200  # the scripts are loaded
    with quiet.client() as counting:
        counting.config_resetstat()
        assert client.get("/metrics").status_code == 200
        stats = counting.info("commandstats")
    used = {name.removeprefix("cmdstat_"): each["calls"] for name, each in stats.items()}
    assert used.get("evalsha", 0) <= 2 * CALLS
    assert used.keys() & GROWING == set()


Load = Callable[[int], int]


def test_a_queue_called_other_is_among_the_others() -> None:
    """Two samples of the same labels would be none."""
    bounded = BoundedLabel("queue", {OTHER: 9, "a": 3, "b": 2, "c": 1}, 2, lambda load: load)
    family = bounded.gauge("tasks", "How many.", lambda load: load)
    found = {sample.labels["queue"]: sample.value for sample in family.samples}
    assert found == {"a": 3, OTHER: 12}


def test_no_other_where_there_is_none(site: Site) -> None:
    """And nothing at all where nothing is."""
    with (
        Holdfast.from_url(site.url, namespace=site.namespace),
        opened(site.url, site.namespace) as live,
    ):
        assert labels_of(scraped(live), "queue") == set()
