"""The life of a task as its producer and its operator see it, with real workers."""

import math
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import (
    AsyncHoldfast,
    Call,
    DecodeError,
    DefinitionConflict,
    Holdfast,
    InvalidName,
    QueueAtCapacity,
    ResultTimeout,
    TaskFailed,
    TaskRegistry,
)
from queues.lifecycle_tasks import (
    NOON,
    Sale,
    acknowledged_at_once,
    began,
    breaks,
    breaks_at_first,
    deployed_later,
    doubled,
    doubled_in_a_thread,
    gate,
    keeps_breaking,
    later,
    leaves_little,
    leaves_nothing,
    let_pass,
    lies,
    meanwhile,
    noon,
    sold,
    sold_all,
    succeeds_at_once_again,
    tasks,
    too_slow,
    unstorable,
    waits_for_the_gate,
    working,
)

NOBODY = "redis://127.0.0.1:1"


@pytest.fixture
def url(standalone: Server) -> str:
    return standalone.url


@pytest.fixture
def space(request: pytest.FixtureRequest) -> str:
    """Return a namespace of the test's own."""
    began.clear()
    gate.clear()
    return f"life-{abs(hash(request.node.nodeid)):x}"


@pytest.fixture
async def hf(url: str, space: str) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(url, namespace=space) as hf:
        yield hf


async def drain(hf: AsyncHoldfast, registry: TaskRegistry = tasks) -> None:
    """Run everything that is there."""
    await hf.worker(registry).run(until_idle=True)


async def test_a_result_comes_back_wherever_the_server_runs(site: Site) -> None:
    gate.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        with working(site.url, site.namespace):
            handles = await hf.enqueue_many([doubled.call(1), doubled_in_a_thread.call(2)])
            assert [await handle.result(timeout=20) for handle in handles] == [2, 4]
        assert [await handle.result(timeout=0) for handle in handles] == [2, 4]
        assert (await handles[0].status()).state == "done"


async def test_results_have_the_annotated_type(hf: AsyncHoldfast) -> None:
    """Dataclasses, dates, containers of them; and by a bare handle, what JSON has."""
    one = await hf.enqueue(sold.call("itemX"))
    day = await hf.enqueue(noon.call())
    many = await hf.enqueue(sold_all.call(["a", "b"]))
    await drain(hf)
    assert await one.result() == Sale("itemX", 97, NOON)
    assert await day.result() == NOON
    assert await many.result() == {"a": Sale("a", 97, NOON), "b": Sale("b", 97, NOON)}
    bare = hf.queue("life").handle(one.task_id)
    assert await bare.result() == {"item": "itemX", "price": 97, "at": "2026-11-21T12:00:00Z"}


async def test_a_result_of_another_type_is_reported(hf: AsyncHoldfast) -> None:
    """The task has done its work; what it returned is not what it promised."""
    handle = await hf.enqueue(lies.call())
    await drain(hf)
    with pytest.raises(DecodeError, match=f"the result of task '{handle.task_id}'"):
        await handle.result()
    assert (await handle.status()).state == "done"


async def test_a_result_is_kept_for_its_ttl(hf: AsyncHoldfast) -> None:
    nothing = await hf.enqueue(leaves_nothing.call())
    little = await hf.enqueue(leaves_little.call())
    await drain(hf)
    with pytest.raises(TaskFailed, match="is unknown") as failed:
        await nothing.result(timeout=5)
    assert failed.value.state == "unknown"
    let_pass(0.3)
    with pytest.raises(TaskFailed, match="is unknown"):
        await little.result(timeout=5)
    assert (await little.status()).state == "unknown"


async def test_a_result_that_cannot_be_stored_is_no_failure_of_the_task(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(unstorable.call())
    await drain(hf)
    status = await handle.status()
    assert (status.state, status.attempts) == ("done", 1)
    assert status.reason.startswith("bad-result: ")
    with pytest.raises(TaskFailed, match="bad-result") as failed:
        await handle.result()
    assert failed.value.state == "done"


async def test_without_a_result_the_reason_is_reported(hf: AsyncHoldfast) -> None:
    dead = await hf.enqueue(breaks.call())
    await drain(hf)
    with pytest.raises(TaskFailed, match="failed: ValueError: broken") as failed:
        await dead.result(timeout=5)
    assert (failed.value.task_id, failed.value.queue) == (dead.task_id, "life")
    assert failed.value.state == "dead"
    cancelled = await hf.enqueue(doubled.call(1))
    assert await cancelled.cancel()
    with pytest.raises(TaskFailed, match="is cancelled"):
        await cancelled.result()
    with pytest.raises(TaskFailed, match="is unknown"):
        await hf.queue("life").handle("unheard-of").result()


async def test_a_waiter_is_notified_of_every_end(hf: AsyncHoldfast, url: str, space: str) -> None:
    queue = hf.queue("life")
    for end in ("dead", "cancelled", "purged"):
        handle = await hf.enqueue(breaks.call() if end == "dead" else doubled.call(1))
        with Holdfast.from_url(url, namespace=space) as other:
            bare = other.queue("life").handle(handle.task_id)
            with meanwhile(lambda bare=bare: bare.result(timeout=30)) as [waiting]:
                let_pass(0.1)
                if end == "dead":
                    await drain(hf)
                elif end == "cancelled":
                    await handle.cancel()
                else:
                    assert await queue.purge() == 1
                since = time.monotonic()
                with pytest.raises(TaskFailed):
                    waiting.result(timeout=30)
                assert time.monotonic() - since < 10


async def test_a_result_that_does_not_come_in_time(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(doubled.call(1))
    for timeout in (0, 0.1, timedelta(milliseconds=100)):
        begun = time.monotonic()
        with pytest.raises(ResultTimeout, match="is queued") as late:
            await handle.result(timeout=timeout)
        assert isinstance(late.value, TimeoutError)
        assert time.monotonic() - begun < 60
    assert late.value.state == "queued"
    assert (await handle.status()).state == "queued"


async def test_many_may_wait_for_one_result(hf: AsyncHoldfast, url: str, space: str) -> None:
    handle = await hf.enqueue(waits_for_the_gate.call())
    with Holdfast.from_url(url, namespace=space) as other:
        bare = other.queue("life").handle(handle.task_id)
        with working(url, space), meanwhile(*[lambda: bare.result(timeout=30)] * 8) as waiting:
            assert eventually(lambda: began)
            let_pass(0.1)
            gate.set()
            assert await handle.result(timeout=30) == "open"
            assert [one.result(timeout=30) for one in waiting] == ["open"] * 8
    assert await handle.result(timeout=0) == "open"


async def test_every_state_can_be_seen(hf: AsyncHoldfast, url: str, space: str) -> None:
    queue = hf.queue("life")
    before = datetime.now(UTC) - timedelta(seconds=1)
    queued = await hf.enqueue(doubled.call(7).options(priority="low"))
    status = await queued.status()
    assert (status.state, status.task, status.priority) == ("queued", "doubled", "low")
    assert (status.args, status.attempts, status.due_at) == ((7,), 0, None)
    assert status.enqueued_at is not None
    assert status.enqueued_at > before
    delayed = await hf.enqueue(doubled.call(1).options(delay=600))
    status = await delayed.status()
    assert status.state == "delayed"
    assert status.due_at is not None
    assert status.due_at > before + timedelta(seconds=600)
    running = await hf.enqueue(waits_for_the_gate.call().options(priority="high"))
    with working(url, space, concurrency=1):
        assert eventually(lambda: began)
        status = await running.status()
        assert (status.state, status.attempts, status.due_at) == ("running", 1, None)
        assert str(status.worker)
        assert [one.task_id for one in await queue.tasks("running")] == [running.task_id]
        gate.set()
        assert await queued.result(timeout=20) == 14
    status = await running.status()
    assert (status.state, status.attempts) == ("done", 1)
    assert status.ended_at is not None
    assert status.ended_at > before
    retried = await hf.enqueue(breaks_at_first.call())
    with working(url, space):
        while (await retried.status()).state != "delayed":
            let_pass(0.01)
    status = await retried.status()
    assert (status.attempts, status.reason) == (1, "failed: ValueError: not yet")
    assert (await queue.handle("unheard-of").status()).state == "unknown"


async def test_what_waits_can_be_cancelled(hf: AsyncHoldfast) -> None:
    queued = await hf.enqueue(doubled.call(1).options(task_id="one"))
    delayed = await hf.enqueue(doubled.call(2).options(delay=0.1))
    assert await queued.cancel()
    assert await delayed.cancel()
    assert not await queued.cancel()
    stats = await hf.queue("life").stats()
    assert (stats.ready, stats.delayed) == (0, 0)
    again = await hf.enqueue(doubled.call(3).options(task_id="one"))
    assert (await again.status()).state == "queued"
    await drain(hf)
    assert await again.result() == 6
    assert len(began) == 1
    assert (await delayed.status()).state == "cancelled"


async def test_a_new_task_never_takes_the_place_of_a_cancelled_one_of_its_id(
    hf: AsyncHoldfast,
) -> None:
    """The old entry stays queued until its turn; what is enqueued after waits for its own time."""
    queue = hf.queue("life")
    await (await hf.enqueue(doubled.call(1).options(task_id="one"))).cancel()
    began_at = time.monotonic()
    again = await hf.enqueue(doubled.call(3).options(task_id="one", delay=0.5))
    assert [task.task_id for task in await queue.tasks("queued")] == []
    assert [task.task_id for task in await queue.tasks("delayed")] == ["one"]
    await drain(hf)
    assert time.monotonic() - began_at >= 0.5
    assert await again.result() == 6
    assert len(began) == 1

    await (await hf.enqueue(doubled.call(1).options(task_id="two"))).cancel()
    at_once = await hf.enqueue(doubled.call(4).options(task_id="two"))
    stats = await queue.stats()
    assert (stats.ready, stats.delayed) == (1, 0)
    assert await queue.purge() == 1
    assert (await at_once.status()).state != "queued"
    stats = await queue.stats()
    assert (stats.ready, stats.delayed) == (0, 0)


async def test_what_runs_can_be_cancelled(hf: AsyncHoldfast, url: str, space: str) -> None:
    handle = await hf.enqueue(waits_for_the_gate.call())
    with working(url, space, concurrency=1):
        assert eventually(lambda: began)
        assert await handle.cancel()
        assert (await handle.status()).state == "cancelled"
        with pytest.raises(TaskFailed, match="is cancelled"):
            await handle.result(timeout=30)
        following = await hf.enqueue(doubled.call(1))
        assert await following.result(timeout=30) == 2  # while the gate is still closed
        assert not gate.is_set()
    assert (await handle.status()).state == "cancelled"


async def test_what_has_ended_cannot_be_cancelled(hf: AsyncHoldfast) -> None:
    done, dead = await hf.enqueue_many([doubled.call(1), breaks.call()])
    await drain(hf)
    assert not await done.cancel()
    assert not await dead.cancel()
    assert not await hf.queue("life").handle("unheard-of").cancel()
    assert [(await one.status()).state for one in (done, dead)] == ["done", "dead"]


async def test_a_paused_queue_hands_out_nothing(hf: AsyncHoldfast, url: str, space: str) -> None:
    queue = hf.queue("life")
    with working(url, space):
        await queue.pause()
        await queue.pause()
        assert (await queue.stats()).paused
        handle = await hf.enqueue(doubled.call(1))
        with pytest.raises(ResultTimeout):
            await handle.result(timeout=1.3)
        assert (await queue.stats()).ready == 1
        await queue.resume()
        assert not (await queue.stats()).paused
        assert await handle.result(timeout=30) == 2
    await queue.pause()
    await hf.enqueue(doubled.call(1))
    await drain(hf)  # what may not be claimed is not waited for
    assert (await queue.stats()).ready == 1


async def test_a_full_queue_takes_nothing_more(hf: AsyncHoldfast, url: str, space: str) -> None:
    queue = hf.queue("life", capacity=2)
    await hf.enqueue(doubled.call(1).options(task_id="one"))
    with pytest.raises(QueueAtCapacity, match="2 tasks may wait") as full:
        await hf.enqueue_many([doubled.call(2), doubled.call(3)])
    assert (full.value.queue, full.value.capacity, full.value.stored) == ("life", 2, 0)
    assert (await queue.stats()).ready == 1
    await hf.enqueue_many([doubled.call(9).options(task_id="one"), doubled.call(2)])
    with pytest.raises(QueueAtCapacity):
        await hf.enqueue(doubled.call(3).options(delay=5))
    assert (await queue.stats()).capacity == 2
    async with AsyncHoldfast.from_url(url, namespace=space) as other:
        assert (await other.queue("life").stats()).capacity == 2
        with pytest.raises(QueueAtCapacity):  # who says nothing takes what is stored
            await other.enqueue(doubled.call(3))
    await drain(hf)
    await hf.enqueue(doubled.call(3))


async def test_a_capacity_is_the_one_that_was_given_first(
    hf: AsyncHoldfast, url: str, space: str
) -> None:
    hf.queue("life", capacity=2, on_conflict="error")
    await hf.enqueue(doubled.call(1))
    async with AsyncHoldfast.from_url(url, namespace=space) as other:
        theirs = other.queue("life", capacity=5, on_conflict="error")
        with pytest.raises(DefinitionConflict, match="is 2, not 5") as conflict:
            await other.enqueue(doubled.call(2))
        assert (conflict.value.stored, conflict.value.given) == (2, 5)
        await theirs.redefine(capacity=5)
        await other.enqueue_many([doubled.call(n) for n in range(4)])
        with pytest.raises(DefinitionConflict, match="is 5, not 2"):
            await hf.enqueue(doubled.call(2))
        await theirs.redefine(capacity=None)
        await other.enqueue_many([doubled.call(n) for n in range(9)])
        assert (await theirs.stats()).capacity is None
        with pytest.raises(DefinitionConflict, match="is None, not 2") as conflict:
            await hf.enqueue(doubled.call(2))
        assert conflict.value.stored is None
        assert (await theirs.stats()).capacity is None


async def test_a_conflict_in_the_middle_of_a_call_reports_what_is_stored(hf: AsyncHoldfast) -> None:
    """The queues that come before the one with another capacity have their tasks."""
    hf.queue("life", capacity=2)
    await hf.enqueue(doubled.call(1))
    hf.queue("life", capacity=5, on_conflict="error")
    elsewhere: Call[Any] = Call("doubled", "elsewhere", "medium", (2,))
    with pytest.raises(DefinitionConflict, match="is 2, not 5") as conflict:
        await hf.enqueue_many([elsewhere, doubled.call(3), elsewhere])
    assert conflict.value.enqueued == 2
    assert (await hf.queue("elsewhere").stats()).ready == 2
    assert (await hf.queue("life").stats()).ready == 1


async def test_what_expires_is_not_begun(hf: AsyncHoldfast) -> None:
    late = await hf.enqueue(doubled.call(1).options(expires=0.05))
    past = await hf.enqueue(doubled.call(2).options(expires=datetime.now(UTC) - timedelta(1)))
    soon = await hf.enqueue(doubled.call(3).options(expires=timedelta(seconds=600)))
    let_pass(0.1)
    await drain(hf)
    for handle in (late, past):
        status = await handle.status()
        assert (status.state, status.attempts) == ("dead", 0)
        assert status.reason.startswith("expired: ")
        with pytest.raises(TaskFailed, match="expired"):
            await handle.result()
    assert await soon.result() == 6
    assert len(began) == 1
    assert await hf.queue("life").replay() == 2
    await drain(hf)
    assert await late.result() == 2  # replayed as if it were new


async def test_what_expires_is_not_tried_again(hf: AsyncHoldfast) -> None:
    """It was begun in time, and failed until its time was over."""
    for expires in (0.3, 1.0, 10.0):  # a slow machine may need more to begin it
        handle = await hf.enqueue(keeps_breaking.call().options(expires=expires))
        await drain(hf)
        status = await handle.status()
        if status.attempts:
            break
    assert status.state == "dead"
    assert status.reason.startswith("expired: ")
    assert 1 <= status.attempts == len(began) < 9


async def test_an_expiry_ends_with_its_task(hf: AsyncHoldfast) -> None:
    """An id may be used again; also when its task was put back and claimed in the same step."""
    for expires in (1.0, 10.0):  # a slow machine may need more to begin it
        name = f"within-{expires}"
        call = succeeds_at_once_again.call().options(task_id=name, expires=expires)
        handle = await hf.enqueue(call)
        await drain(hf)
        if (await handle.status()).state == "done":
            break
    assert await handle.result() == 2
    let_pass(expires)
    again = await hf.enqueue(doubled.call(5).options(task_id=handle.task_id))
    await drain(hf)
    assert await again.result(timeout=0) == 10


async def test_an_async_task_is_stopped_at_its_timeout(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(too_slow.call())
    begun = time.monotonic()
    await drain(hf)
    assert time.monotonic() - begun < 60
    with pytest.raises(TaskFailed, match="TimeoutError: it took longer than its timeout"):
        await handle.result()


async def test_the_dead_are_replayed_by_id_or_purged(hf: AsyncHoldfast) -> None:
    handles = await hf.enqueue_many([breaks.call() for _ in range(3)])
    queue = hf.queue("life")
    await drain(hf)
    ids = [handle.task_id for handle in handles]
    assert await queue.replay([ids[2], "unheard-of", ids[0], ids[2]]) == 2
    assert [one.task_id for one in await queue.tasks("queued")] == [ids[2], ids[0]]
    status = await handles[2].status()
    assert (status.state, status.attempts, status.reason) == ("queued", 0, "")
    assert await queue.replay([]) == 0
    assert await queue.purge(dead=True) == 1
    assert await queue.dead() == []
    assert (await handles[1].status()).state == "unknown"
    await drain(hf)
    assert len(await queue.dead()) == 2


async def test_a_purge_drops_what_waits_and_nothing_else(
    hf: AsyncHoldfast, url: str, space: str
) -> None:
    queue = hf.queue("life")
    dead = await hf.enqueue(breaks.call())
    await drain(hf)
    running = await hf.enqueue(waits_for_the_gate.call())
    with working(url, space, concurrency=1):
        assert eventually(lambda: began)
        waiting = await hf.enqueue_many([doubled.call(n) for n in range(1500)])
        delayed = await hf.enqueue(doubled.call(1).options(delay=600))
        assert await waiting[3].cancel()
        assert await queue.purge() == 1500
        stats = await queue.stats()
        assert (stats.ready, stats.delayed, stats.running, stats.dead) == (0, 0, 1, 1)
        assert (await delayed.status()).state == "unknown"
        gate.set()
        assert await running.result(timeout=20) == "open"
    assert (await dead.status()).state == "dead"


async def test_a_purge_passes_over_cancelled_places_in_few_steps(
    proxy: Proxy, hf: AsyncHoldfast, space: str
) -> None:
    """A thousand at once, however few tasks are left to be dropped."""
    handles = await hf.enqueue_many([doubled.call(n) for n in range(1100)])
    for handle in handles[:-1]:
        await handle.cancel()
    async with AsyncHoldfast.from_url(proxy.url, namespace=space) as other:
        assert await other.queue("life").purge() == 1
        assert proxy.commands["EVALSHA"] <= 3
    assert (await hf.queue("life").stats()).ready == 0


async def test_a_repeated_purge_drops_nothing_more(hf: AsyncHoldfast) -> None:
    """It answers what it answered, and spares what came since."""
    queue = hf.queue("life")
    await hf.enqueue_many([doubled.call(n) for n in range(2)])
    assert await queue.purge(op_id="purge 1") == 2
    assert await queue.purge(op_id="purge 1") == 2
    await hf.enqueue_many([doubled.call(n) for n in range(5)])
    assert await queue.purge(op_id="purge 1") == 2
    assert (await queue.stats()).ready == 5


async def test_what_is_acknowledged_at_once_is_done(
    hf: AsyncHoldfast, url: str, space: str
) -> None:
    await hf.enqueue(waits_for_the_gate.call())
    with working(url, space):
        assert eventually(lambda: began)
        handles = await hf.enqueue_many([acknowledged_at_once.call(n) for n in range(20)])
        assert [await handle.result(timeout=30) for handle in handles] == list(range(20))
        assert (await hf.queue("life").stats()).running == 1


async def test_an_unknown_task_waits_for_a_worker_that_knows_it(
    hf: AsyncHoldfast, url: str, space: str
) -> None:
    handle = await hf.enqueue(deployed_later.call())
    with working(url, space):
        while (await handle.status()).state != "delayed":
            let_pass(0.01)
        status = await handle.status()
        assert status.attempts == 0
        assert status.reason.startswith("unknown-task: ")
    await drain(hf, later)
    assert await handle.result() == "at last"
    assert (await handle.status()).attempts == 1


async def test_an_unknown_task_is_dead_when_no_worker_comes(
    hf: AsyncHoldfast, url: str, space: str
) -> None:
    begun = time.monotonic()
    handle = await hf.enqueue(deployed_later.call())
    with working(url, space, unknown_timeout=1.5):
        with pytest.raises(TaskFailed, match="unknown-task: no task named 'deployed_later'"):
            await handle.result(timeout=20)
        assert time.monotonic() - begun >= 1.4
    assert (await handle.status()).attempts == 1
    assert await hf.queue("life").replay() == 1
    await drain(hf, later)
    assert await handle.result() == "at last"


async def test_a_delay_is_kept(hf: AsyncHoldfast, url: str, space: str) -> None:
    with working(url, space):
        due = []
        for delay in (0.05, 0.301, timedelta(milliseconds=150)):
            seconds = delay / timedelta(seconds=1) if isinstance(delay, timedelta) else delay
            due.append(time.time() + seconds)
            handle = await hf.enqueue(doubled.call(1).options(delay=delay))
            assert await handle.result(timeout=20) == 2
        at = datetime.now(UTC) + timedelta(seconds=0.25)
        due.append(at.timestamp())
        handle = await hf.enqueue(doubled.call(1).options(at=at))
        assert await handle.result(timeout=20) == 2
    late = [start - instant for start, instant in zip(began, due, strict=True)]
    # The server counts in whole milliseconds; a machine may stand still for a while.
    assert all(seconds > -0.002 for seconds in late), late
    assert min(late) < 1, late


@pytest.mark.parametrize("off_s", [-3600.0, 3600.0])
async def test_a_delay_is_kept_though_the_clients_clock_is_wrong(
    hf: AsyncHoldfast, url: str, space: str, monkeypatch: pytest.MonkeyPatch, off_s: float
) -> None:
    now, now_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: now() + off_s)
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + round(off_s * 1e9))
    with working(url, space):
        begun = time.monotonic()
        handle = await hf.enqueue(doubled.call(1).options(delay=0.4))
        assert await handle.result(timeout=20) == 2
        assert 0.4 <= time.monotonic() - begun < 30


@pytest.mark.parametrize(
    "options",
    [
        {"delay": math.nan},
        {"delay": math.inf},
        {"delay": -0.001},
        {"delay": timedelta(seconds=-1)},
        {"delay": 1e12},
        {"delay": 1.7e9},  # meant as an instant
        {"expires": 1.7e9},
        {"at": math.nan},
        {"at": -1},
        {"at": 1e15},
        {"at": datetime(2026, 11, 21)},  # noqa: DTZ001 (naive, that is the point)
        {"at": 1.0, "delay": 1.0},
        {"expires": 0},
        {"expires": -1.0},
        {"expires": math.nan},
        {"expires": datetime(2026, 11, 21)},  # noqa: DTZ001
        {"expires": 1.0, "delay": 2.0},
        {"priority": "urgent"},
        {"priority": ""},
        {"task_id": ""},
        {"task_id": "x" * 201},
        {"task_id": "a b"},
    ],
)
async def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    kind = InvalidName if "task_id" in options else ValueError
    with pytest.raises(kind):
        doubled.call(1).options(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"delay": "1"},
        {"delay": True},
        {"at": "tomorrow"},
        {"at": timedelta(1)},
        {"expires": "1"},
        {"task_id": 7},
        {"dealy": 1.0},
    ],
)
async def test_options_of_a_wrong_type_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        doubled.call(1).options(**options)


async def test_arguments_that_do_not_fit_are_refused() -> None:
    for args, kwargs in (((), {}), ((1, 2), {}), ((1,), {"m": 2})):
        with pytest.raises(TypeError, match="task 'doubled'"):
            doubled.call(*args, **kwargs)


async def test_wrong_arguments_are_refused_before_any_io() -> None:
    async with AsyncHoldfast.from_url(NOBODY) as hf:
        queue = hf.queue("life")
        handle = queue.handle("one")
        for timeout in (math.nan, -1, 1e12):
            with pytest.raises(ValueError, match="timeout must be 0 seconds or more"):
                await handle.result(timeout=timeout)
        for limit in (0, 1001):
            with pytest.raises(ValueError, match="limit must be 1 to 1,000"):
                await queue.tasks(limit=limit)
        with pytest.raises(ValueError, match="state must be one of"):
            await queue.tasks("done")
        for capacity in (0, -1, 10**13):
            with pytest.raises(ValueError, match="capacity must be 1 to"):
                hf.queue("life", capacity=capacity)
            with pytest.raises(ValueError, match="capacity must be 1 to"):
                await queue.redefine(capacity=capacity)
        with pytest.raises(TypeError, match="capacity must be an int"):
            await queue.redefine(capacity=1.5)
        with pytest.raises(TypeError, match="not a single str"):
            await queue.replay("one")
        with pytest.raises(ValueError, match="at most 1000 task_ids"):
            await queue.replay(["x"] * 1001)
        with pytest.raises(InvalidName):
            await queue.replay([""])
        with pytest.raises(InvalidName):
            queue.handle("a b")
