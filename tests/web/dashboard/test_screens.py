"""What the screens show, and what their actions do."""

from __future__ import annotations

import logging
import re
import threading
import time
from datetime import datetime
from typing import Any

import httpx
import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import Retry, TaskRegistry
from queues.outcome_tasks import gives_up, snoozes
from queues.outcome_tasks import tasks as outcome_tasks
from web.dashboard.sample_data import ACTIONS, work
from web.running import RunningApp, opened

registry = TaskRegistry()

EMPTY = (
    *(
        "",
        "queues",
        "tasks",
        "schedules",
        "groups",
        "history",
        "failures",
        "workers",
        "locks",
        "semaphores",
        "mailboxes",
        "chats",
    ),
    *("counters", "completions", "rows", "feeds", "tallies"),
)
"""What shows nothing where there is nothing."""


@registry.task(queue="email", retry=Retry(attempts=1))
def send(to: str, number: int = 0) -> str:
    """Fails for some."""
    if to.startswith("bad"):
        raise ConnectionError(f"smtp said {number} to '{to}'")
    return "sent"


@registry.task(queue="other", retry=Retry(attempts=1))
def fail() -> None:
    """Fail with an SMTP error."""
    raise ConnectionError("smtp said 421 to 'x'")


def see(live: RunningApp, path: str, **query: Any) -> Any:
    """Return the JSON of a page."""
    answer = live.visitor("viewer").get(f"/{path}.json", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def act(live: RunningApp, path: str, **fields: Any) -> httpx.Response:
    """Call an action as a program does, and return its response."""
    client = live.visitor("operator", Accept="application/json")
    return client.post(f"/{path}", json=fields)


def done(live: RunningApp, path: str, **fields: Any) -> tuple[str, int]:
    """Call an action; return its message, and how many items it changed."""
    answer = act(live, path, **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()["message"], answer.json()["changed"]


def run(live: RunningApp) -> None:
    work(live.hf, registry)


def test_an_empty_namespace_is_well(live: RunningApp) -> None:
    """And each page shows the code that fills it."""
    seen = see(live, "overview")
    assert (seen["health"]["level"], seen["queues"], seen["ready"]) == ("ok", 0, 0)
    client = live.visitor("viewer", Accept="text/html")
    for path in EMPTY:
        page = client.get(f"/{path}").text
        assert '<pre tabindex="0"><code>' in page, path
        assert '<p class="as-of">as of <time datetime="' in page, path
        assert " whose " not in page, path


def test_the_overview_counts_what_ended(live: RunningApp) -> None:
    """Done and given up, in the last hour; and judges it."""
    live.hf.enqueue_many([send.call("jill") for _ in range(5)])
    live.hf.enqueue(send.call("bad"))
    run(live)
    live.hf.enqueue(send.call("jill"))
    seen = see(live, "overview")
    assert sum(minute["done"] for minute in seen["pace"]) == 5
    assert sum(minute["dead"] for minute in seen["pace"]) == 1
    assert (seen["dead"], seen["died"], seen["ready"]) == (1, 1, 1)
    assert seen["oldest"] >= 0
    assert seen["health"]["level"] == "error"
    texts = " ".join(finding["text"] for finding in seen["health"]["findings"])
    assert "no worker serves email" in texts
    assert "dead-lettered" in texts


def test_outcomes_that_tasks_choose_are_counted_apart(live: RunningApp) -> None:
    """A task that gives up is no failure, and one that snoozes is none either."""
    live.hf.enqueue(gives_up.call().options(task_id="gone"))
    live.hf.enqueue(snoozes.call(99, 3600.0).options(task_id="later", headers={"tenant": "acme"}))
    worker = live.hf.worker(outcome_tasks)
    thread = threading.Thread(target=worker.run)
    thread.start()
    eventually(lambda: live.hf.queue("ends").stats().delayed == 1)
    eventually(lambda: live.hf.queue("ends").stats().dead == 1)
    worker.stop()
    thread.join()
    seen = see(live, "overview")
    counted = {name: sum(each[name] for each in seen["pace"]) for name in ("gave_up", "snoozed")}
    assert counted == {"gave_up": 1, "snoozed": 1}
    assert (seen["dead"], seen["died"], seen["gave_up"], seen["failing"]) == (1, 0, 1, 0)
    later = see(live, "task", queue="ends", id="later")["task"]
    assert (later["snoozes"], later["headers"]) == (1, {"tenant": "acme"})
    viewer = live.visitor("viewer", Accept="text/html")
    page = viewer.get("/task", params={"queue": "ends", "id": "later"}).text
    assert "Snoozed once" in page
    assert "snoozed: not yet" in page
    assert "acme" in page
    assert '<li class="error">' not in page
    assert see(live, "tasks", queue="ends", state="delayed", q="ACME")["total"] == 1


def test_a_chart_has_the_outcomes_that_occurred(site: Site) -> None:
    with opened(site.url, site.namespace) as live:
        viewer = live.visitor("viewer", Accept="text/html")
        for counts, found in {"0:0:0:3:2": True, "1:1:1:0:0": False}.items():
            minute = int(time.time() / 60) - 5
            key = f"{site.namespace}:{{queue:ends}}:throughput"
            site.client.hset(key, str(minute % 120), f"{minute}:{counts}")
            page = viewer.get("/queue", params={"name": "ends"}).text
            assert '<span class="key one">done</span>' in page
            assert ('<span class="key five">gave up</span>' in page) is found
            assert ('<span class="key four">snoozed</span>' in page) is found


def test_a_small_chart_begins_where_its_data_begins(site: Site) -> None:
    with opened(site.url, site.namespace) as live:
        key = f"{site.namespace}:{{queue:ends}}:throughput"
        minute = int(time.time() / 60) - 5
        live.hf.enqueue(TaskRegistry().task(queue="ends")(fail.function).call())
        page = live.visitor("viewer", Accept="text/html").get("/queues").text
        assert '<polyline points=""/>' in page
        site.client.hset(key, str(minute % 120), f"{minute}:3:0:0:0:0")
        page = live.visitor("viewer", Accept="text/html").get("/queues").text
        [points] = re.findall(r'<polyline points="([^"]+)"/>', page)
        # One minute before the data, and the whole ones since then; perhaps another has begun.
        assert 6 <= len(points.split()) <= 7


def test_queues_are_found_and_put_in_order(live: RunningApp) -> None:
    """By name, by what waits, and by a part of the name."""
    for name, count in {"b": 1, "a": 3, "ab": 2}.items():
        task = TaskRegistry().task(queue=name)(fail.function)
        live.hf.enqueue_many([task.call() for _ in range(count)])
    names = lambda **query: [each["name"] for each in see(live, "queues", **query)["queues"]]  # noqa: E731
    assert names(order="name") == ["a", "ab", "b"]
    assert names(order="waiting") == ["a", "ab", "b"]
    assert sorted(names(q="B")) == ["ab", "b"]
    assert names(page=2) == []


def test_a_queue_is_paused_and_goes_on(live: RunningApp) -> None:
    live.hf.enqueue(send.call("jill"))
    done(live, "queue/pause", queue="email")
    assert see(live, "queue", name="email")["stats"]["paused"] is True
    done(live, "queue/resume", queue="email")
    assert see(live, "queue", name="email")["stats"]["paused"] is False


def test_failures_of_one_cause_are_one_group(live: RunningApp) -> None:
    """Numbers and names in the errors do not matter, and the group is replayed together."""
    live.hf.enqueue_many([send.call(f"bad{n}", 400 + n) for n in range(3)])
    live.hf.enqueue(fail.call())
    run(live)
    seen = see(live, "failures")
    assert [(group["queue"], group["count"]) for group in seen["groups"]] == [
        ("email", 3),
        ("other", 1),
    ]
    group = seen["groups"][0]
    listed = see(
        live, "tasks", queue="email", state="dead", task=group["task"], reason=group["reason"]
    )
    assert listed["total"] == 3
    fields = {"queue": "email", "task": group["task"], "reason": group["reason"]}
    flash = done(live, "failures/replay", **fields, among="2")
    assert flash == ("Replayed 2 tasks of email.", 2)
    assert act(live, "failures/replay", **fields, among="1001").status_code == 400
    for _ in range(2):  # the second time it only answers, as after a lost reply
        flash = done(live, "failures/replay", **fields, key="mine")
        assert flash == ("Replayed 1 task of email.", 1)
    assert done(live, "failures/replay", **fields)[1] == 0
    assert live.hf.queue("email").stats().ready == 3
    assert live.hf.queue("other").stats().dead == 1


def test_tasks_are_listed_searched_and_paged(live: RunningApp) -> None:
    """Fifty to a page."""
    live.hf.enqueue_many([send.call(f"jill{n:03}") for n in range(120)])
    first = see(live, "tasks", queue="email")
    assert (first["total"], len(first["tasks"])) == (120, 50)
    assert first["tasks"][0]["args"] == ["jill000"]
    assert see(live, "tasks", queue="email", page=3)["tasks"][-1]["args"] == ["jill119"]
    assert see(live, "tasks", queue="email", page=4)["tasks"] == []
    found = see(live, "tasks", queue="email", q="JILL042")
    assert [each["args"] for each in found["tasks"]] == [["jill042"]]


def test_the_history_is_searched_filtered_and_paged(live: RunningApp) -> None:
    """Show the task that ended last first, fifty to a page."""
    live.hf.enqueue_many([send.call(f"jill{n:03}") for n in range(60)])
    live.hf.enqueue(send.call("bad", 421).options(task_id="dead"))
    run(live)
    first = see(live, "history", queue="email")
    older = see(live, "history", queue="email", before=first["next"])
    assert (len(first["tasks"]), len(older["tasks"]), older["next"]) == (50, 11, None)
    numbers = [each["number"] for each in [*first["tasks"], *older["tasks"]]]
    assert numbers == list(range(61, 0, -1))
    for query in (
        {"q": "SMTP said 421"},
        {"q": "dead"},
        {"outcome": "failed"},
        {"outcome": "dead"},
    ):
        [dead] = see(live, "history", queue="email", **query)["tasks"]
        assert (dead["task_id"], dead["outcome"], dead["task"]) == ("dead", "failed", "send")
    assert len(see(live, "history", queue="email", task="send")["tasks"]) == 50
    assert see(live, "history", queue="email", task="sen")["tasks"] == []
    page = live.visitor("viewer", Accept="text/html").get("/history?queue=email&q=dead").text
    assert "smtp said 421 to" in page
    assert 'aria-label="only this task: send">only this task</a>' in page


def test_tasks_are_cancelled_and_replayed_by_id(live: RunningApp) -> None:
    """Cancel several at once; the response counts those that had already ended."""
    handles = live.hf.enqueue_many([send.call("jill"), send.call("jack"), send.call("bad")])
    ids = [handle.task_id for handle in handles]
    flash, changed = done(live, "task/cancel", queue="email", id=[*ids[:2], "unknown"])
    assert (changed, "Already ended: 1." in flash) == (2, True)
    run(live)
    assert see(live, "task", queue="email", id=ids[2])["task"]["state"] == "dead"
    assert done(live, "task/replay", queue="email", id=ids[2])[1] == 1
    assert see(live, "task", queue="email", id=ids[2])["task"]["state"] == "queued"
    assert see(live, "task", queue="email", id=ids[0])["task"]["state"] == "cancelled"


def test_all_dead_are_replayed_or_dropped_with_their_number(live: RunningApp) -> None:
    """Waiting tasks are dropped in the same way."""
    live.hf.enqueue_many([send.call("bad") for _ in range(4)])
    run(live)
    assert done(live, "queue/replay", queue="email")[1] == 4
    run(live)
    assert done(live, "queue/purge", queue="email", which="dead")[1] == 4
    live.hf.enqueue_many([send.call("jill") for _ in range(3)])
    assert done(live, "queue/purge", queue="email", which="waiting")[1] == 3
    assert act(live, "queue/purge", queue="email", which="all").status_code == 400


def test_an_action_is_repeated_under_its_key_only_once(live: RunningApp) -> None:
    """Retry as after a lost reply; the same key of another user is a different key."""
    live.hf.enqueue_many([send.call("bad") for _ in range(2)])
    run(live)
    first = done(live, "queue/replay", queue="email", key="mine")
    run(live)
    assert done(live, "queue/replay", queue="email", key="mine")[1] == first[1] == 2
    assert live.hf.queue("email").stats().dead == 2


def test_what_was_asked_for_long_ago_is_not_repeated(live: RunningApp) -> None:
    """The server may have forgotten that it was done: the page with the button is too old."""
    live.hf.enqueue(send.call("bad"))
    run(live)
    made = int(time.time())
    for since, status in ((made - 3100, 409), (made - 2900, 200)):
        answer = act(live, "queue/replay", queue="email", key=f"{since}-AbC_d-9")
        assert answer.status_code == status
        assert live.hf.queue("email").stats().dead == (status == 409)


def test_only_the_failures_that_were_shown_are_replayed(live: RunningApp) -> None:
    """Tasks that die later of the same cause stay dead until the page has shown them."""
    live.hf.enqueue_many([send.call("bad") for _ in range(2)])
    run(live)
    [group] = see(live, "failures")["groups"]
    page = live.visitor("operator", Accept="text/html").get("/failures").text
    until = page.partition('name="until" value="')[2].partition('"')[0]
    assert datetime.fromisoformat(until) == datetime.fromisoformat(group["last_at"])
    time.sleep(0.01)  # the server counts in milliseconds
    live.hf.enqueue(send.call("bad"))
    run(live)
    fields = {"queue": "email", "task": group["task"], "reason": group["reason"]}
    assert done(live, "failures/replay", **fields, until=until)[1] == 2
    assert act(live, "failures/replay", **fields, until="yesterday").status_code == 400
    assert live.hf.queue("email").stats().dead == 1


def test_every_action_is_in_the_audit_log(
    live: RunningApp, caplog: pytest.LogCaptureFixture
) -> None:
    """One record each: who, what, which, and what came of it; also when it failed."""
    with caplog.at_level(logging.INFO, "holdfast.audit"):
        done(live, "queue/pause", queue="email", back="/queues")
        act(live, "queue/purge", queue="email", which="all")
        act(live, "task/cancel", queue="email", id=["a", "b"])
    records = [record for record in caplog.records if record.name == "holdfast.audit"]
    lines = [
        (each.user, each.role, each.action, each.target)  # type: ignore[attr-defined]
        for each in records
    ]
    assert lines == [
        ("ann", "operator", "queue/pause", {"queue": "email"}),
        ("ann", "operator", "queue/purge", {"queue": "email", "which": "all"}),
        ("ann", "operator", "task/cancel", {"queue": "email", "id": ["a", "b"]}),
    ]
    outcomes = [each.outcome for each in records]  # type: ignore[attr-defined]
    assert outcomes[0].startswith("email is paused")
    assert outcomes[1] == "failed: Problem"
    assert outcomes[2] == "Cancelled 0 tasks. Already ended: 2."


@pytest.mark.parametrize("path", ACTIONS)
def test_no_action_is_without_its_record(
    live: RunningApp, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "holdfast.audit"):
        act(live, path, what="is missing")
    [record] = [record for record in caplog.records if record.name == "holdfast.audit"]
    assert (record.user, record.action) == ("ann", path)  # type: ignore[attr-defined]
    assert record.target == {"what": "is missing"}  # type: ignore[attr-defined]


def test_the_server_is_shown_as_far_as_it_may_be(site: Site) -> None:
    """One, or each primary of a cluster; what the user may not ask for is left out."""
    with opened(site.url, site.namespace) as live:
        seen = see(live, "server")
        restricted = "secret@" in site.url
        topology, primaries, _ = site.shape
        assert (seen["topology"], len(seen["servers"])) == (topology, primaries)
        for server in seen["servers"]:
            assert server["memory"] > 0
            assert server["version"]
            assert (server["slow"] is None) == restricted
        assert "secret" not in live.visitor("viewer", Accept="text/html").get("/server").text
