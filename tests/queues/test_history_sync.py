# Generated from test_history_async.py by tools/unasync.py: edit that, then run `make sync`.
"""The history of a queue has its last tasks that ended, each with its outcome."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from conftest import Site
from holdfast import Call, EndedTask, Holdfast, TaskRegistry
from queues.history_tasks import add, fail, fail_again, nap, tasks, unkept


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def run(hf: Holdfast, *calls: Call) -> list[EndedTask]:
    """Run *calls* and return the history, the first that ended first."""
    hf.enqueue_many(calls)
    hf.worker(tasks, concurrency=1).run(until_idle=True)
    return (hf.queue("ended").history())[::-1]


def test_every_end_is_noted_once(hf: Holdfast) -> None:
    found = run(hf, add.call(1), fail.call("no"), unkept.call(), fail_again.call())
    ends = [(each.task, each.state, each.outcome, each.attempts, each.reason) for each in found]
    assert ends == [
        ("add", "done", "done", 1, ""),
        ("fail", "dead", "failed", 1, "failed: ValueError: no"),
        ("ein Name: mit Ümlaut", "done", "done", 1, ""),
        ("fail_again", "dead", "failed", 3, "failed: OSError: again"),
    ]


def test_an_end_says_when_and_for_how_long(hf: Holdfast) -> None:
    handle = hf.enqueue(nap.call())
    worker = hf.worker(tasks)
    worker.run(until_idle=True)
    [ended] = hf.queue("ended").history()
    assert (ended.task_id, ended.worker, ended.crashes) == (handle.task_id, worker.name, 0)
    assert 0.2 <= ended.duration < 60
    assert abs((datetime.now(UTC) - ended.ended_at).total_seconds()) < 60


def test_a_cancelled_task_is_noted(hf: Holdfast) -> None:
    waiting = hf.enqueue(add.call(1))
    assert waiting.cancel()
    assert not waiting.cancel()
    [cancelled] = hf.queue("ended").history()
    assert (cancelled.task, cancelled.state, cancelled.outcome) == ("add", "cancelled", "cancelled")
    assert (cancelled.duration, cancelled.worker, cancelled.attempts) == (None, "", 0)


def test_an_expired_task_is_noted(hf: Holdfast) -> None:
    [expired] = run(hf, fail.call("late").options(expires=0.001))
    assert (expired.task, expired.outcome, expired.duration) == ("fail", "expired", None)
    assert expired.reason == "expired: it was not begun in time"


def test_a_refused_task_is_noted_with_its_name(hf: Holdfast) -> None:
    other = TaskRegistry()

    @other.task(queue="ended", name="add")
    def more(a: int, b: int, c: int) -> None: ...

    @other.task(queue="ended", name="x" * 300)
    def unheard_of() -> None: ...

    hf.enqueue_many([more.call(1, 2, 3), unheard_of.call()])
    hf.worker(tasks, unknown_timeout=0).run(until_idle=True)
    found = {each.outcome: each.task for each in hf.queue("ended").history()}
    assert found == {"bad-arguments": "add", "unknown-task": "x" * 200}


def test_the_history_is_searched(hf: Holdfast) -> None:
    calls = [
        add.call(1).options(task_id="First"),
        fail.call("The disk is full").options(task_id="second"),
        fail.call("50% of it").options(task_id="third"),
        add.call(2).options(task_id="fourth"),
    ]
    run(hf, *calls)
    queue = hf.queue("ended")

    def ids(**filters: str) -> list[str]:
        return [each.task_id for each in queue.history(**filters)]

    assert ids() == ["fourth", "third", "second", "First"]
    assert ids(name="add") == ["fourth", "First"]
    assert ids(name="ad") == []
    assert ids(outcome="dead") == ids(outcome="failed") == ["third", "second"]
    assert ids(outcome="done") == ["fourth", "First"]
    assert ids(outcome="cancelled") == []
    assert ids(search="DISK is") == ["second"]
    assert ids(search="first") == ["First"]
    assert ids(search="0% of") == ["third"]
    assert ids(search="%d") == []
    assert ids(search="add") == []
    assert ids(search="d", outcome="dead", name="fail") == ["third", "second"]


def test_the_history_is_read_page_by_page(hf: Holdfast) -> None:
    run(hf, *[add.call(n).options(task_id=f"t{n}") for n in range(25)])
    queue, found, before = hf.queue("ended"), [], None
    while page := queue.history(10, before=before):
        found += [each.task_id for each in page]
        before = page[-1].number
    assert len(found) == 25
    assert sorted(found) == sorted(f"t{n}" for n in range(25))
    with pytest.raises(ValueError, match="before must be 1 or more"):
        queue.history(before=0)
    assert queue.history(before=1) == []
    assert len(queue.history(before=10**15)) == 25


def test_a_long_history_is_searched_to_its_end(hf: Holdfast) -> None:
    hf.queue("ended").redefine(history=5_000)
    run(hf, fail.call("needle"), *[add.call(n) for n in range(1_100)])
    [found] = hf.queue("ended").history(search="needle")
    assert found.task == "fail"
    everything = hf.queue("ended").history(1_000)
    assert len({each.task_id for each in everything}) == 1_000


def test_the_history_is_bounded_and_ends(hf: Holdfast, site: Site) -> None:
    queue = hf.queue("ended")
    queue.redefine(history=10)
    run(hf, *[add.call(n) for n in range(300)])
    key = f"{site.namespace}:{{queue:ended}}:history"
    assert 10 <= site.client.llen(key) <= 11
    assert 0 < site.client.ttl(key) <= 7 * 24 * 3600
    queue.redefine(history=0)
    assert queue.history() == []
    assert run(hf, add.call(1), fail.call("no")) == []
    assert not site.client.exists(key)
    queue.redefine(history=1_000)
    [ended] = run(hf, add.call(1))
    assert ended.task == "add"


def test_capacity_and_history_change_separately(hf: Holdfast) -> None:
    queue = hf.queue("ended")
    queue.redefine(capacity=5, history=20)
    queue.redefine(history=30)
    assert (queue.stats()).capacity == 5
    queue.redefine(capacity=None)
    assert (queue.stats()).capacity is None
    with pytest.raises(ValueError, match="give capacity, history or both"):
        queue.redefine()
    for history in (-1, 100_001):
        with pytest.raises(ValueError, match="history must be"):
            queue.redefine(history=history)


def test_a_replayed_task_is_noted_again(hf: Holdfast) -> None:
    [dead] = run(hf, fail.call("no"))
    hf.queue("ended").replay()
    found = run(hf)
    assert [each.task_id for each in found] == [dead.task_id, dead.task_id]
    assert len({each.number for each in found}) == 2


DAMAGES = (
    "",
    "x",
    ":",
    "9" * 30,
    "1:2:done",
    "1:2:done:1:0:99999:id:5:3:add",
    "1:2:dead:x:0:2:id::0: y",
    "1:" + "9" * 15 + ":dead:1:1:2:id:5:999:\udcff",
    "1:2:done:1:1:2:id" + "9" * 30 + ":1:a",
)


@pytest.mark.parametrize("record", DAMAGES)
def test_an_entry_of_another_program_is_shown(hf: Holdfast, site: Site, record: str) -> None:
    run(hf, add.call(1))
    key = f"{site.namespace}:{{queue:ended}}:history"
    site.client.rpush(key, record.encode(errors="surrogateescape"))
    found = hf.queue("ended").history()
    assert len(found) == 2
    assert found[1].task == "add"
    hf.queue("ended").history(search="z", name="q", outcome="dead")
    [ended, *_] = run(hf, add.call(2))
    assert ended.task == "add"


def test_a_key_of_another_type_does_not_stop_the_queue(hf: Holdfast, site: Site) -> None:
    site.client.set(f"{site.namespace}:{{queue:ended}}:history", "x")
    handle, cancelled = hf.enqueue(add.call(1, b=1)), hf.enqueue(add.call(1))
    assert cancelled.cancel()
    hf.worker(tasks).run(until_idle=True)
    assert handle.result(timeout=0) == 2


def test_a_task_of_another_language_has_its_name(hf: Holdfast, site: Site) -> None:
    prefix = f"{site.namespace}:{{queue:ended}}:"
    bodies = {
        "a": '{"task": "of order", "args": [{"task": "not this"}], "v": 1, "id": "a"}',
        "b": '{"v":1,"id":"b","queue":"ended","task":"quo\\"ted"}',
        "c": "no JSON",
        "d": '{"args": ["' + "x" * 5000 + '"], "task": "too long to look"}',
        "e": '{"v":1,"task":["no","text"]}',
    }
    for task_id, body in bodies.items():
        site.client.hset(prefix + "bodies", task_id, body)
        assert hf.queue("ended").handle(task_id).cancel()
    names = {each.task_id: each.task for each in hf.queue("ended").history()}
    assert names == {"a": "of order", "b": 'quo"ted', "c": "", "d": "", "e": ""}
