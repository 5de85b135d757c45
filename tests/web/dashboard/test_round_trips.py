"""Cost of a page: a bounded number of calls, and no call grows with the stored data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.servers import Server
from holdfast import TaskRegistry
from holdfast.web.dashboard.screens.overview import SURVEYED
from web.dashboard.sample_data import PAGES
from web.running import RunningApp, opened

QUEUES = 300

NAMES = 2_000
"""Of each other kind."""

LISTED = (
    *("lock", "semaphore", "mailbox", "chat", "counter"),
    *("completions", "row_cache", "feed", "tally"),
)

CALLS = 2 * SURVEYED + 200
"""Of one page at most; 64 of them travel together, so it takes no more than 20 round trips."""

GROWING = {"keys", "scan", "smembers", "sscan", "hscan", "zscan", "hkeys", "hvals", "sort"}
"""Commands with a cost that grows with the data. `HGETALL` reads only the last 120 minutes."""


@pytest.fixture(scope="module")
def live(quiet: Server) -> Iterator[RunningApp]:
    """More queues than a page looks into."""
    with opened(quiet.url, "cost") as live:
        calls = []
        for n in range(QUEUES):
            task = TaskRegistry().task(queue=f"queue-{n:03}", name="send")(_send)
            calls += [task.call(one) for one in range(3)]
        live.hf.enqueue_many(calls)
        with quiet.client() as client:
            for kind in LISTED:
                client.zadd(f"cost:{{catalog:{kind}}}:names", {f"n{n}": n for n in range(NAMES)})
        yield live


@pytest.fixture(scope="module")
def quiet() -> Iterator[Server]:
    """Start a server that no other test uses."""
    with Server() as server:
        yield server


def _send(one: int) -> None: ...


@pytest.mark.parametrize("path", PAGES)
def test_a_page_makes_few_calls(live: RunningApp, quiet: Server, path: str) -> None:
    """Counted by the server, those inside its scripts by name."""
    client = live.visitor("operator", Accept="text/html")
    query = {"name": "queue-000", "queue": "queue-000", "id": "x"}
    query |= {"order": "waiting"} if path == "queues" else {}
    query = {} if path == "failures" else query
    assert client.get(f"/{path}", params=query).status_code == 200  # the scripts are loaded
    with quiet.client() as counting:
        counting.config_resetstat()
        assert client.get(f"/{path}", params=query).status_code == 200
        stats = counting.info("commandstats")
    used = {name.removeprefix("cmdstat_"): each["calls"] for name, each in stats.items()}
    assert used.get("evalsha", 0) <= CALLS
    assert used.keys() & GROWING == set()
