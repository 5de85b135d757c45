"""Lost requests and lost replies: whatever is repeated, each task runs exactly once."""

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, OutcomeUnknown, Queue, TaskRegistry, current_task
from holdfast.core import ledger
from holdfast.core.names import Namespace
from holdfast.queues import enqueue_batch as packing
from holdfast.queues import keys
from holdfast.queues._sync.task_sender import ENQUEUE_PLAIN
from holdfast.queues.worker.held_claims import RENEW
from holdfast.queues.worker.step import STEP

tasks = TaskRegistry()
ran: list[object] = []
attempts: list[int] = []
enough = threading.Event()


@tasks.task(queue="lost")
def note(value: object, ballast: str = "") -> None:
    attempts.append(current_task().attempt)
    ran.append(value)


@tasks.task(queue="other")
def note_elsewhere(value: object) -> None:
    ran.append(value)


@tasks.task(queue="lost")
def lasts() -> None:
    ran.append(current_task().attempt)
    enough.wait(90)


@pytest.fixture
def namespace() -> str:
    ran.clear()
    attempts.clear()
    return f"lost-{secrets.token_hex(4)}"


@pytest.fixture
def direct(standalone: Server, namespace: str) -> Iterator[Holdfast]:
    """Return a client that does not use the proxy, and that has loaded the scripts."""
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        hf.enqueue(note.call("first"))
        drain(hf)
        hf.queue("lost").replay()
        ran.clear()
        attempts.clear()
        yield hf


def drain(hf: Holdfast, *queues: str) -> None:
    """Run everything of *queues*, one task at a time."""
    hf.worker(tasks, queues=dict.fromkeys(queues or ["lost"], 1), concurrency=1).run(
        until_idle=True
    )


@contextmanager
def working(url: str, namespace: str, *, lease: float = 60.0) -> Iterator[None]:
    """Run a worker while the block lasts; no test waits for the end of such a lease."""
    with Holdfast.from_url(f"{url}?socket_timeout=1", namespace=namespace) as hf:
        worker = hf.worker(tasks, concurrency=4, lease=lease)
        thread = threading.Thread(target=worker.run)
        thread.start()
        eventually(lambda: hf.queue("lost").stats().waiting_workers == 1)
        try:
            yield
        finally:
            worker.stop()
            thread.join()


def many() -> tuple[list[Any], int]:
    """Calls for several steps, cut by number, by size and by queue; and how many steps."""
    calls = [note.call(n) for n in range(350)]
    calls += [note.call(n, "x" * 200_000) for n in range(350, 353)]
    calls += [note_elsewhere.call(n) for n in range(353, 360)]
    return calls, 4  # 250 · 100 and two large ones · one large one · the other queue


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lost", ["drop_reply", "drop_request"])
@pytest.mark.parametrize("nth", [*(pytest.param(n, marks=pytest.mark.long) for n in (1, 2, 3)), 4])
def test_an_enqueue_many_that_breaks_off_in_any_step_counts_once(
    half: Half, proxy: Proxy, direct: Holdfast, lost: str, nth: int
) -> None:
    calls, steps = many()
    assert len(list(packing.batched(calls, [str(n) for n in range(len(calls))]))) == steps
    hf = half.client(proxy.url, direct.namespace)
    fault = getattr(proxy, lost)(nth, match=ENQUEUE_PLAIN.sha1.encode())
    with pytest.raises(OutcomeUnknown) as caught:
        half.do(hf.enqueue_many(calls))
    assert fault.fired == 1
    drain(direct, "lost", "other")

    handles = half.do(caught.value.repeat())
    assert [handle.task_id for handle in handles] == [
        f"{caught.value.op_id.removeprefix('hf:')}.{n}" for n in range(len(calls))
    ]
    drain(direct, "lost", "other")
    assert [n for n in ran if n < 353] == list(range(353))
    assert [n for n in ran if n >= 353] == list(range(353, 360))


def weighing(ballast: int) -> list[Any]:
    return [note.call(n, "x" * ballast) for n in range(100, 160)]


def room_in_a_step(ballast: int) -> int:
    """Bytes that the first step of such tasks leaves: in some cases it is full to the last ones."""
    calls = weighing(ballast)
    first, *_ = packing.batched(calls, [f"{'w' * 13}.1.{n}" for n in range(60)])
    return packing.BATCH_BYTES - first.size


@pytest.mark.parametrize(
    ("first_s", "second_s"),
    [
        (1.7e9, 1.7e9 + 0.123),  # what grows: a step that was full has no room any more
        pytest.param(1.7e9 + 0.123, 1.7e9, marks=pytest.mark.long),
    ],
)
def test_a_repeated_enqueue_many_is_cut_into_the_same_steps(
    monkeypatch: pytest.MonkeyPatch,
    proxy: Proxy,
    direct: Holdfast,
    first_s: float,
    second_s: float,
) -> None:
    clock = SimpleNamespace(now_s=first_s, time=lambda: clock.now_s)
    clock.time_ns = lambda: round(clock.now_s * 1e9)
    monkeypatch.setattr(packing, "time", clock)
    monkeypatch.setattr(packing, "BATCH_BYTES", 10_000)
    with Holdfast.from_url(proxy.url, namespace=direct.namespace) as hf:
        for ballast in sorted(range(300, 340), key=room_in_a_step)[:3]:
            calls = weighing(ballast)
            ran.clear()
            clock.now_s = first_s
            proxy.drop_request(2, match=ENQUEUE_PLAIN.sha1.encode())
            with pytest.raises(OutcomeUnknown) as caught:
                hf.enqueue_many(calls)
            drain(direct)
            clock.now_s = second_s
            caught.value.repeat()
            drain(direct)
            assert ran == list(range(100, 160))


@pytest.mark.parametrize("lost", ["drop_replies", "drop_request"])
def test_three_lost_steps_in_a_row_orphan_nothing(
    proxy: Proxy, direct: Holdfast, lost: str
) -> None:
    with working(proxy.url, direct.namespace):
        for tens in range(0, 100, 10):
            faults = (
                [proxy.drop_replies(3, match=STEP.sha1.encode())]
                if lost == "drop_replies"
                else [proxy.drop_request(n, match=STEP.sha1.encode()) for n in (1, 2, 3)]
            )
            direct.enqueue_many([note.call(n) for n in range(tens, tens + 10)])
            eventually(lambda n=tens + 10: len(ran) == n)
            eventually(lambda waited=faults: sum(fault.fired for fault in waited) == 3)
    assert sorted(ran) == list(range(100))
    assert attempts == [1] * 100
    assert direct.queue("lost").dead() == []


def test_a_claim_that_never_reached_the_worker_and_left_the_ledger_is_taken_back(
    standalone: Server, proxy: Proxy, direct: Holdfast
) -> None:
    """The worker was cut off for longer than the ledger keeps a step; no other worker is there."""
    unit = Namespace.of(direct.namespace).unit("queue", "lost")
    with working(proxy.url, direct.namespace, lease=1.0):
        for orphan in count():
            proxy.drop_replies(1000, match=STEP.sha1.encode())
            direct.enqueue(note.call(orphan))
            if is_claimed(direct.queue("lost")):
                break
            proxy.heal()  # that step had left before the task came: repeated, it claims none
            eventually(lambda n=orphan: n in ran and not direct.queue("lost").stats().running)
        proxy.refuse()
        time.sleep(1.5)
        with standalone.client() as client:
            client.delete(*ledger.keys(unit))
        proxy.heal()
        eventually(lambda: ran[-1:] == [orphan])
    assert attempts == [1] * (orphan + 1)  # the claim was released, so it cost no attempt


def is_claimed(queue: Queue) -> bool:
    """Return whether a task of the queue runs soon."""
    try:
        return eventually(lambda: queue.stats().running == 1, timeout=3)
    except AssertionError:
        return False


@pytest.mark.sampled(3)
@pytest.mark.parametrize("byte", [0, 1, 4, 9, 30, 80, 200])
def test_a_step_reply_that_ends_in_its_middle_is_asked_for_again(
    proxy: Proxy, direct: Holdfast, byte: int
) -> None:
    with working(proxy.url, direct.namespace):
        fault = proxy.cut_reply_at(byte, match=STEP.sha1.encode())
        direct.enqueue_many([note.call(n) for n in range(20)])
        eventually(lambda: len(ran) == 20)
        assert fault.fired == 1
    assert sorted(ran) == list(range(20))
    assert attempts == [1] * 20


@pytest.mark.parametrize("lost", ["drop_reply", "drop_request"])
def test_a_lost_renewal_costs_no_lease(
    proxy: Proxy, standalone: Server, direct: Holdfast, lost: str
) -> None:
    enough.clear()
    leases = keys.leases(Namespace.of(direct.namespace).unit(keys.KIND, "lost"))
    with working(proxy.url, direct.namespace, lease=6.0), standalone.client() as client:
        fault = getattr(proxy, lost)(match=RENEW.sha1.encode())
        direct.enqueue(lasts.call())
        eventually(lambda: ran)
        [(_, ends_ms)] = client.zrange(leases, 0, -1, withscores=True)
        fault.wait(60)
        if lost == "drop_reply":  # this one was applied
            [(_, ends_ms)] = client.zrange(leases, 0, -1, withscores=True)
        eventually(lambda: client.zrange(leases, 0, -1, withscores=True)[0][1] > ends_ms)
        enough.set()
        eventually(lambda: direct.queue("lost").stats().running == 0)
    assert ran == [1]


def test_a_worker_goes_on_at_one_byte_at_a_time(proxy: Proxy, direct: Holdfast) -> None:
    with working(proxy.url, direct.namespace):
        proxy.slice(1)
        proxy.delay(0.01)
        direct.enqueue_many([note.call(n) for n in range(50)])
        eventually(lambda: len(ran) == 50, timeout=60)
    assert sorted(ran) == list(range(50))
    assert attempts == [1] * 50


@pytest.mark.parametrize("directions", ["both", "requests", "replies"])
def test_a_worker_notices_that_its_connections_are_dead(
    proxy: Proxy, direct: Holdfast, directions: Any
) -> None:
    numbers = count()
    with working(proxy.url, direct.namespace, lease=1.0):
        proxy.black_hole(directions)
        direct.enqueue_many([note.call(next(numbers)) for _ in range(10)])
        before = proxy.connections
        eventually(lambda: proxy.connections > before, reason="it connects anew")
        proxy.heal()
        eventually(lambda: set(ran) == set(range(10)))
        eventually(lambda: direct.queue("lost").stats().running == 0)
    stats = direct.queue("lost").stats()
    assert (stats.ready, stats.delayed, stats.dead) == (0, 0, 0)
