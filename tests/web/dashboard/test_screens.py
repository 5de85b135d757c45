"""What the screens show, and what their actions do."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx
import pytest

from conftest import Site
from faults.servers import Server
from holdfast import Retry, TaskRegistry
from web.dashboard.world import ACTIONS, work
from web.house import House, opened

registry = TaskRegistry()

EMPTY = (
    *("", "queues", "tasks", "failures", "workers", "locks", "semaphores", "mailboxes", "chats"),
    *("counters", "completions", "rows", "feeds", "tallies"),
)
"""What shows nothing where there is nothing."""


@registry.task(queue="email", retry=Retry(attempts=1))
def send(to: str, number: int = 0) -> str:
    """Fails for some."""
    if to.startswith("bad"):
        raise ConnectionError(f"smtp said {number} to '{to}'")
    return "sent"


@pytest.fixture
def house(standalone: Server) -> Iterator[House]:
    """One without anything in it."""
    with opened(standalone.url, f"screens-{secrets.token_hex(4)}") as house:
        yield house


@registry.task(queue="other", retry=Retry(attempts=1))
def fail() -> None:
    """As it says."""
    raise ConnectionError("smtp said 421 to 'x'")


def see(house: House, path: str, **query: Any) -> Any:
    """The JSON of a page."""
    answer = house.visitor("viewer").get(f"/{path}.json", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def act(house: House, path: str, **fields: Any) -> httpx.Response:
    """What an action answers to a program."""
    client = house.visitor("operator", Accept="application/json")
    return client.post(f"/{path}", json=fields)


def done(house: House, path: str, **fields: Any) -> tuple[str, int]:
    """What it says, and how many it changed."""
    answer = act(house, path, **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()["said"], answer.json()["changed"]


def run(house: House) -> None:
    work(house.hf, registry)


def test_an_empty_namespace_is_well(house: House) -> None:
    """And each page shows the code that fills it."""
    seen = see(house, "overview")
    assert (seen["verdict"]["level"], seen["queues"], seen["ready"]) == ("good", 0, 0)
    client = house.visitor("viewer", Accept="text/html")
    for path in EMPTY:
        assert "<pre><code>" in client.get(f"/{path}").text, path
        assert '<p class="as-of">as of <time datetime="' in client.get(f"/{path}").text, path


def test_the_overview_counts_what_ended(house: House) -> None:
    """Done and given up, in the last hour; and judges it."""
    house.hf.enqueue_many([send.call("jill") for _ in range(5)])
    house.hf.enqueue(send.call("bad"))
    run(house)
    house.hf.enqueue(send.call("jill"))
    seen = see(house, "overview")
    assert sum(minute["done"] for minute in seen["pace"]) == 5
    assert sum(minute["dead"] for minute in seen["pace"]) == 1
    assert (seen["dead"], seen["died"], seen["ready"]) == (1, 1, 1)
    assert seen["oldest"] >= 0
    assert seen["verdict"]["level"] == "bad"
    said = " ".join(finding["text"] for finding in seen["verdict"]["findings"])
    assert "no worker serves email" in said
    assert "given up" in said


def test_queues_are_found_and_put_in_order(house: House) -> None:
    """By name, by what waits, and by a part of the name."""
    for name, count in {"b": 1, "a": 3, "ab": 2}.items():
        task = TaskRegistry().task(queue=name)(fail.function)
        house.hf.enqueue_many([task.call() for _ in range(count)])
    names = lambda **query: [each["name"] for each in see(house, "queues", **query)["queues"]]  # noqa: E731
    assert names(order="name") == ["a", "ab", "b"]
    assert names(order="waiting") == ["a", "ab", "b"]
    assert sorted(names(q="B")) == ["ab", "b"]
    assert names(page=2) == []


def test_a_queue_is_paused_and_goes_on(house: House) -> None:
    """As its page says."""
    house.hf.enqueue(send.call("jill"))
    done(house, "queue/pause", queue="email")
    assert see(house, "queue", name="email")["stats"]["paused"] is True
    done(house, "queue/resume", queue="email")
    assert see(house, "queue", name="email")["stats"]["paused"] is False


def test_failures_of_one_cause_are_one_group(house: House) -> None:
    """Whatever numbers and names they tell; and are put in line again together."""
    house.hf.enqueue_many([send.call(f"bad{n}", 400 + n) for n in range(3)])
    house.hf.enqueue(fail.call())
    run(house)
    seen = see(house, "failures")
    assert [(group["queue"], group["count"]) for group in seen["groups"]] == [
        ("email", 3),
        ("other", 1),
    ]
    group = seen["groups"][0]
    listed = see(
        house, "tasks", queue="email", state="dead", task=group["task"], reason=group["reason"]
    )
    assert listed["total"] == 3
    fields = {"queue": "email", "task": group["task"], "reason": group["reason"]}
    said = done(house, "failures/replay", **fields, among="2")
    assert said == ("In line again: 2 tasks of email.", 2)
    assert act(house, "failures/replay", **fields, among="1001").status_code == 400
    for _ in range(2):  # the second time it only answers, as after a lost reply
        said = done(house, "failures/replay", **fields, key="mine")
        assert said == ("In line again: 1 task of email.", 1)
    assert done(house, "failures/replay", **fields)[1] == 0
    assert house.hf.queue("email").stats().ready == 3
    assert house.hf.queue("other").stats().dead == 1


def test_tasks_are_listed_searched_and_paged(house: House) -> None:
    """Fifty to a page."""
    house.hf.enqueue_many([send.call(f"jill{n:03}") for n in range(120)])
    first = see(house, "tasks", queue="email")
    assert (first["total"], len(first["tasks"])) == (120, 50)
    assert first["tasks"][0]["args"] == ["jill000"]
    assert see(house, "tasks", queue="email", page=3)["tasks"][-1]["args"] == ["jill119"]
    assert see(house, "tasks", queue="email", page=4)["tasks"] == []
    found = see(house, "tasks", queue="email", q="JILL042")
    assert [each["args"] for each in found["tasks"]] == [["jill042"]]


def test_tasks_are_cancelled_and_replayed_by_id(house: House) -> None:
    """Several at once; those that had ended are told."""
    handles = house.hf.enqueue_many([send.call("jill"), send.call("jack"), send.call("bad")])
    ids = [handle.task_id for handle in handles]
    said, changed = done(house, "task/cancel", queue="email", id=[*ids[:2], "unknown"])
    assert (changed, "Ended before: 1." in said) == (2, True)
    run(house)
    assert see(house, "task", queue="email", id=ids[2])["task"]["state"] == "dead"
    assert done(house, "task/replay", queue="email", id=ids[2])[1] == 1
    assert see(house, "task", queue="email", id=ids[2])["task"]["state"] == "queued"
    assert see(house, "task", queue="email", id=ids[0])["task"]["state"] == "cancelled"


def test_all_dead_are_replayed_or_dropped_with_their_number(house: House) -> None:
    """And so are those that wait."""
    house.hf.enqueue_many([send.call("bad") for _ in range(4)])
    run(house)
    assert done(house, "queue/replay", queue="email")[1] == 4
    run(house)
    assert done(house, "queue/purge", queue="email", which="dead")[1] == 4
    house.hf.enqueue_many([send.call("jill") for _ in range(3)])
    assert done(house, "queue/purge", queue="email", which="waiting")[1] == 3
    assert act(house, "queue/purge", queue="email", which="all").status_code == 400


def test_an_action_is_repeated_under_its_key_only_once(house: House) -> None:
    """As after a reply that was lost; somebody else's key is another one."""
    house.hf.enqueue_many([send.call("bad") for _ in range(2)])
    run(house)
    first = done(house, "queue/replay", queue="email", key="mine")
    run(house)
    assert done(house, "queue/replay", queue="email", key="mine")[1] == first[1] == 2
    assert house.hf.queue("email").stats().dead == 2


def test_what_was_asked_for_long_ago_is_not_repeated(house: House) -> None:
    """The server may have forgotten that it was done: the page with the button is too old."""
    house.hf.enqueue(send.call("bad"))
    run(house)
    made = int(time.time())
    for since, status in ((made - 3100, 409), (made - 2900, 200)):
        answer = act(house, "queue/replay", queue="email", key=f"{since}-AbC_d-9")
        assert answer.status_code == status
        assert house.hf.queue("email").stats().dead == (status == 409)


def test_only_the_failures_that_were_shown_are_replayed(house: House) -> None:
    """What dies of the same cause meanwhile stays dead until somebody has seen it."""
    house.hf.enqueue_many([send.call("bad") for _ in range(2)])
    run(house)
    [group] = see(house, "failures")["groups"]
    page = house.visitor("operator", Accept="text/html").get("/failures").text
    until = page.partition('name="until" value="')[2].partition('"')[0]
    assert datetime.fromisoformat(until) == datetime.fromisoformat(group["last_at"])
    time.sleep(0.01)  # the server counts in milliseconds
    house.hf.enqueue(send.call("bad"))
    run(house)
    fields = {"queue": "email", "task": group["task"], "reason": group["reason"]}
    assert done(house, "failures/replay", **fields, until=until)[1] == 2
    assert act(house, "failures/replay", **fields, until="yesterday").status_code == 400
    assert house.hf.queue("email").stats().dead == 1


def test_every_action_is_in_the_audit_log(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """One record each: who, what, which, and what came of it; also when it failed."""
    with caplog.at_level(logging.INFO, "holdfast.audit"):
        done(house, "queue/pause", queue="email", back="/queues")
        act(house, "queue/purge", queue="email", which="all")
        act(house, "task/cancel", queue="email", id=["a", "b"])
    records = [record for record in caplog.records if record.name == "holdfast.audit"]
    told = [
        (each.user, each.role, each.action, each.target)  # type: ignore[attr-defined]
        for each in records
    ]
    assert told == [
        ("ann", "operator", "queue/pause", {"queue": "email"}),
        ("ann", "operator", "queue/purge", {"queue": "email", "which": "all"}),
        ("ann", "operator", "task/cancel", {"queue": "email", "id": ["a", "b"]}),
    ]
    outcomes = [each.outcome for each in records]  # type: ignore[attr-defined]
    assert outcomes[0].startswith("email is paused")
    assert outcomes[1] == "failed: Problem"
    assert outcomes[2] == "Cancelled: 0 tasks. Ended before: 2."


@pytest.mark.parametrize("path", ACTIONS)
def test_no_action_is_without_its_record(
    house: House, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the screen."""
    with caplog.at_level(logging.INFO, "holdfast.audit"):
        act(house, path, what="is missing")
    [record] = [record for record in caplog.records if record.name == "holdfast.audit"]
    assert (record.user, record.action) == ("ann", path)  # type: ignore[attr-defined]
    assert record.target == {"what": "is missing"}  # type: ignore[attr-defined]


def test_the_server_is_shown_as_far_as_it_may_be(site: Site) -> None:
    """One, or each primary of a cluster; what the user may not ask for is left out."""
    with opened(site.url, site.namespace) as house:
        seen = see(house, "server")
        restricted = "secret@" in site.url
        topology, primaries, _ = site.shape
        assert (seen["topology"], len(seen["servers"])) == (topology, primaries)
        for server in seen["servers"]:
            assert server["memory"] > 0
            assert server["version"]
            assert (server["slow"] is None) == restricted
        assert "secret" not in house.visitor("viewer", Accept="text/html").get("/server").text
