"""Lists of names are complete: what is not on the first pages is on a later one, and is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from faults.servers import Server
from holdfast import Holdfast
from web.running import RunningApp, opened

NAMES: Final = 2_100
"""Of each kind: more than one reply lists."""

LOOKED_AT: Final = 400
"""Of locks and counters: each is asked how it is."""

PAGES: Final = {
    "queues": ("queue", "queues"),
    "mailboxes": ("mailbox", "mailboxes"),
    "chats": ("chat", "chats"),
    "rows": ("row_cache", "caches"),
    "feeds": ("feed", "feeds"),
    "tallies": ("tally", "tallies"),
}
"""Page → the kind in the catalog, and where the page lists what is of it."""

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def live(standalone: Server) -> Iterator[RunningApp]:
    """Serve a dashboard of names that were used in their order, the first one long ago."""
    with opened(standalone.url, "dashboard-lists") as live:
        with standalone.client() as client:
            names = {f"n{n:04}": 1_000_000.0 + n for n in range(NAMES)}
            for kind, _ in PAGES.values():
                client.zadd(f"dashboard-lists:{{catalog:{kind}}}:names", names)
        yield live


@pytest.mark.parametrize("path", PAGES)
def test_all_names_are_listed_and_found(live: RunningApp, path: str) -> None:
    """Also those behind the first thousand; page after page."""
    _, key = PAGES[path]
    first = see(live, path)
    assert (first["total"], first["all"]) == (NAMES, NAMES)
    found = see(live, path, q="N0007")
    assert found["total"] == 1
    if path == "chats":
        return  # there are none but their names
    assert "n0007" in str(found[key])
    last = -(-first["total"] // first["size"])
    assert len(see(live, path, page=last)[key]) == first["total"] - (last - 1) * first["size"]
    assert see(live, path, page=last + 1)[key] == []


@pytest.mark.parametrize("order", ["used", "name", "waiting", "dead"])
def test_a_search_of_queues_looks_at_all_in_each_order(live: RunningApp, order: str) -> None:
    """And says so where only some can be put in order."""
    found = see(live, "queues", q="n00", order=order)
    assert (found["total"], found["found"]) == (100, 100)
    everything = see(live, "queues", order=order)
    page = live.visitor("viewer", **HTML).get("/queues", params={"order": order}).text
    assert everything["found"] == NAMES
    assert (everything["total"] < NAMES) == ("used last are sorted this way" in page)


def test_a_list_that_the_server_has_cut_is_marked(standalone: Server) -> None:
    """The server remembers a bounded number of names."""
    with opened(standalone.url, "dashboard-cut") as live, standalone.client() as client:
        names = {f"n{n:05}": 1.0 + n for n in range(10_000)}
        client.zadd("dashboard-cut:{catalog:mailbox}:names", names)
        assert see(live, "mailboxes")["total"] == 10_000
        page = live.visitor("viewer", **HTML).get("/mailboxes").text
        assert "keeps the 10,000 names" in page
        assert see(live, "mailboxes", q="n00003")["total"] == 1


def test_locks_and_counters_behind_those_that_are_looked_at_are_found(standalone: Server) -> None:
    """By their names; a page says at how many it looks."""
    with opened(standalone.url, "dashboard-locks") as live, standalone.client() as client:
        fill(live.hf)
        for kind in ("lock", "semaphore", "counter"):
            others = {f"other{n}": 1e15 + n for n in range(LOOKED_AT)}  # noted later than any
            client.zadd(f"dashboard-locks:{{catalog:{kind}}}:names", {**others, "wanted": 1.0})
        for path, key in {
            "locks": "locks",
            "semaphores": "semaphores",
            "counters": "counters",
        }.items():
            found = see(live, path, q="WANT")
            assert [each["name"] for each in found[key]] == ["wanted"], path
            page = live.visitor("viewer", **HTML).get(f"/{path}").text
            assert path == "counters" or "a search covers all" in page
        for lease in held:
            lease.release()


def fill(hf: Holdfast) -> None:
    """Create one object of each block, and keep the leases held."""
    held.append(hf.lock("wanted").acquire())
    held.append(hf.semaphore("wanted", limit=1).acquire())
    hf.counter("wanted").add(1)


held: list[Any] = []


def see(live: RunningApp, path: str, **query: Any) -> Any:
    """Return the JSON of a page."""
    answer = live.visitor("viewer").get(f"/{path}.json", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()
