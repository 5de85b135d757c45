"""A producer claims a single task for the idle worker that it wakes."""

import asyncio
import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import (
    Holdfast,
    Limit,
    OutcomeUnknown,
    ServerUnavailable,
    TaskRegistry,
    current_task,
)
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues._async.task_sender import ENQUEUE_PLAIN
from holdfast.queues.worker.claimer import Claimer
from holdfast.queues.worker.direct_claims import DIRECT_S
from holdfast.queues.worker.step import StepReply
from holdfast.queues.worker.step_sender import StepSender

QUEUE = "direct"
NAME = "a-worker"
FAR_MS = 9e15

tasks = TaskRegistry()
ran: list[tuple[object, int, int]] = []
"""Argument, attempt and thread of each run."""
gates: dict[str, threading.Event] = {}
lease_left_ms: list[Callable[[str], float]] = []
"""Reads from the server how long the lease of a task still lasts."""


def note_run(value: object) -> None:
    ran.append((value, current_task().attempt, threading.get_ident()))


@tasks.task(queue=QUEUE)
async def note(value: object, padding: str = "") -> None:
    del padding
    note_run(value)


@tasks.task(queue=QUEUE)
def note_in_a_thread(value: object) -> None:
    note_run(value)


@tasks.task(queue=QUEUE)
async def block(after: float, seconds: float) -> None:
    note_run(seconds)
    await asyncio.sleep(after)
    time.sleep(seconds)  # noqa: ASYNC251 (as a careless task does)


@tasks.task(queue=QUEUE)
async def wait(gate: str) -> None:
    note_run(gate)
    while not gates[gate].is_set():  # noqa: ASYNC110 (the test sets it in another thread)
        await asyncio.sleep(0.01)


@tasks.task(queue=QUEUE)
async def note_lease() -> None:
    await asyncio.sleep(0.02)
    note_run(lease_left_ms[0](current_task().task_id))


@tasks.task(queue="beside")
async def note_beside(value: object) -> None:
    note_run(value)


@pytest.fixture
def namespace() -> str:
    ran.clear()
    gates.clear()
    return f"direct-{secrets.token_hex(4)}"


@pytest.fixture
def hf(standalone: Server, namespace: str) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


class IdleWorker:
    """A subscription that is listed as that of an idle worker, and what it hears."""

    def __init__(
        self, server: Server, namespace: str, name: str = NAME, queue: str = QUEUE
    ) -> None:
        self.unit = Namespace.of(namespace).unit(keys.KIND, queue)
        self.channel = self.unit.key(f"notify:{secrets.token_hex(3)}.0{f'@{name}' if name else ''}")
        self.raw = server.shared_client
        self._pubsub = self.raw.pubsub()
        self._pubsub.ssubscribe(self.channel)
        assert self._pubsub.get_sharded_message(timeout=5) is not None
        self.be_idle()

    def be_idle(self) -> None:
        """List it as idle."""
        self.raw.zadd(keys.idle(self.unit), {self.channel: FAR_MS})

    def received(self) -> list[bytes]:
        """Return the messages since the last call."""
        found = []
        while (message := self._pubsub.get_sharded_message(timeout=0.3)) is not None:
            found.append(message["data"])
        return found

    def close(self) -> None:
        """End the subscription."""
        self._pubsub.close()


@pytest.fixture
def idle(standalone: Server, namespace: str) -> Iterator[IdleWorker]:
    worker = IdleWorker(standalone, namespace)
    yield worker
    worker.close()


# What the script claims


def test_the_idle_worker_gets_the_claim_with_the_task(hf: Holdfast, idle: IdleWorker) -> None:
    handle = hf.enqueue(note.call("hello"))
    [message] = idle.received()
    token, now_ms, has_events, length, rest = message[1:].split(b" ", 4)
    task_id, envelope = rest[: int(length)], rest[int(length) :]
    assert (message[:1], has_events, task_id) == (b"+", b"0", handle.task_id.encode())
    assert b'"hello"' in envelope
    stats = hf.queue(QUEUE).stats()
    assert (stats.ready, stats.running) == (0, 1)
    record = idle.raw.hget(keys.state(idle.unit), task_id)
    assert record == b"%s:1:0:2:0:0:0:%s a-worker" % (token, idle.channel.encode())
    ends_ms = idle.raw.zscore(keys.leases(idle.unit), task_id)
    assert ends_ms == int(now_ms) + DIRECT_S * 1000
    assert idle.raw.zcard(keys.idle(idle.unit)) == 0
    assert handle.cancel()
    assert idle.received() == [token + b" " + task_id]


def enqueue_one(hf: Holdfast, idle: IdleWorker) -> None:
    hf.enqueue(note.call(1))


def enqueue_two(hf: Holdfast, idle: IdleWorker) -> None:
    hf.enqueue_many([note.call(1), note.call(2)])


def enqueue_large(hf: Holdfast, idle: IdleWorker) -> None:
    hf.enqueue(note.call(1, padding=secrets.token_hex(50_000)))


def in_a_paused_queue(hf: Holdfast, idle: IdleWorker) -> None:
    hf.queue(QUEUE).pause()
    idle.be_idle()
    enqueue_one(hf, idle)


def in_a_limited_queue(hf: Holdfast, idle: IdleWorker) -> None:
    hf.queue(QUEUE).limit(rate=Limit(100, per=1.0))
    idle.be_idle()
    enqueue_one(hf, idle)


def behind_a_ready_task(hf: Holdfast, idle: IdleWorker) -> None:
    idle.raw.delete(keys.idle(idle.unit))
    enqueue_one(hf, idle)
    idle.be_idle()
    enqueue_one(hf, idle)


def behind_a_task_of_a_higher_priority(hf: Holdfast, idle: IdleWorker) -> None:
    idle.raw.delete(keys.idle(idle.unit))
    hf.enqueue(note.call(0).options(priority="high"))
    idle.be_idle()
    enqueue_one(hf, idle)


def behind_a_due_task(hf: Holdfast, idle: IdleWorker) -> None:
    hf.enqueue(note.call(0).options(delay=0.01))
    time.sleep(0.05)
    idle.be_idle()
    enqueue_one(hf, idle)


@pytest.mark.parametrize(
    "enqueue",
    [
        enqueue_two,
        enqueue_large,
        in_a_paused_queue,
        in_a_limited_queue,
        behind_a_ready_task,
        behind_a_task_of_a_higher_priority,
        behind_a_due_task,
    ],
)
def test_a_task_that_may_not_start_now_is_only_notified(
    hf: Holdfast, idle: IdleWorker, enqueue: Callable[[Holdfast, IdleWorker], None]
) -> None:
    idle.received()
    enqueue(hf, idle)
    assert {*idle.received()} == {b""}
    assert hf.queue(QUEUE).stats().running == 0


def test_tasks_that_come_later_hold_back_none(hf: Holdfast, idle: IdleWorker) -> None:
    """A delayed task, and one of a lower priority."""
    idle.raw.delete(keys.idle(idle.unit))
    hf.enqueue(note.call(0).options(delay=60.0))
    hf.enqueue(note.call(1).options(priority="low"))
    idle.be_idle()
    enqueue_one(hf, idle)
    [message] = idle.received()
    assert message.startswith(b"+")


def test_workers_without_a_subscription_are_passed_over(
    standalone: Server, hf: Holdfast, idle: IdleWorker
) -> None:
    other = IdleWorker(standalone, hf.namespace)
    gone = idle.unit.key("notify:gone.0@gone")
    idle.raw.zadd(keys.idle(idle.unit), {gone: FAR_MS - 1e6, idle.channel: FAR_MS - 1e3})
    hf.enqueue(note.call(1))
    assert len(idle.received()) == 1
    assert other.received() == []
    other.close()
    idle.raw.delete(keys.idle(idle.unit))
    idle.raw.zadd(keys.idle(idle.unit), {gone: FAR_MS})
    hf.enqueue(note.call(2))
    stats = hf.queue(QUEUE).stats()
    assert (stats.ready, stats.running) == (1, 1)


@pytest.mark.parametrize("queue", [QUEUE, "an@address"])
def test_a_worker_of_an_earlier_version_is_only_notified(
    standalone: Server, hf: Holdfast, namespace: str, queue: str
) -> None:
    earlier = IdleWorker(standalone, namespace, name="", queue=queue)
    hf.enqueue(note.call(1).options(queue=queue))
    assert earlier.received() == [b""]
    assert hf.queue(queue).stats().ready == 1
    earlier.close()


def test_an_enqueue_with_a_lost_reply_claims_once(
    standalone: Server, proxy: Proxy, namespace: str, idle: IdleWorker
) -> None:
    standalone.shared_client.script_load(ENQUEUE_PLAIN.source)
    with Holdfast.from_url(proxy.url, namespace=namespace) as hf:
        proxy.drop_reply(1, match=ENQUEUE_PLAIN.sha1.encode())
        with pytest.raises(OutcomeUnknown) as caught:
            hf.enqueue(note.call(1))
        idle.be_idle()
        handle = caught.value.repeat()
        assert len(idle.received()) == 1
        assert hf.queue(QUEUE).stats().running == 1
        assert handle.cancel()


# What a worker does with it


@pytest.fixture
def claimed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the ids that steps claim."""
    found: list[bytes] = []
    whole = StepSender.answered

    async def answered(self: StepSender, step: Any) -> StepReply:
        reply = await whole(self, step)
        found.extend(claim.key for claim in reply.claims)
        return reply

    monkeypatch.setattr(StepSender, "answered", answered)
    return found


@contextlib.contextmanager
def working(hf: Holdfast, *, grace: float = 10.0, **options: Any) -> Iterator[Any]:
    """Run a worker in a thread until the end of the context, once it is idle."""
    worker = hf.worker(tasks, **options)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        listed(hf, QUEUE)
        yield worker
    finally:
        worker.stop(grace=grace)
        thread.join(30)
        assert not thread.is_alive()


def listed(hf: Holdfast, queue: str, count: int = 1) -> None:
    """Wait until *count* workers are listed as idle."""
    eventually(lambda: hf.queue(queue).stats().waiting_workers >= count)


@pytest.mark.parametrize("task", [note, note_in_a_thread])
def test_an_idle_worker_starts_a_task_without_a_step(
    hf: Holdfast, claimed: list[bytes], task: Any
) -> None:
    with working(hf):
        for n in range(3):
            assert hf.enqueue(task.call(n)).result(timeout=20) is None
            listed(hf, QUEUE)
    assert [value for value, *_ in ran] == [0, 1, 2]
    assert claimed == []


def test_a_task_keeps_its_claim_also_while_it_blocks_the_loop(hf: Holdfast) -> None:
    """The renewals need no loop; another worker would take it otherwise."""
    with working(hf):
        handle = hf.enqueue(block.call(0.0, DIRECT_S + 1.5))
        eventually(lambda: ran)
        with working(hf):
            handle.result(timeout=30)
    assert [attempt for _, attempt, _ in ran] == [1]


def test_a_task_that_runs_has_the_whole_lease(
    standalone: Server, hf: Holdfast, namespace: str
) -> None:
    """So another worker cannot take it while its own is frozen for less than the lease."""
    raw, unit = standalone.shared_client, Namespace.of(namespace).unit(keys.KIND, QUEUE)

    def left_ms(task_id: str) -> float:
        seconds, microseconds = raw.time()
        ends_ms = raw.zscore(keys.leases(unit), task_id)
        return float(ends_ms) - seconds * 1000 - microseconds / 1000

    lease_left_ms[:] = [left_ms]
    gates["open"] = threading.Event()
    with working(hf, lease=60.0):
        hf.enqueue(wait.call("open"))  # its lease keeps the renewer busy, which looks now and then
        for _ in range(8):
            listed(hf, QUEUE)
            hf.enqueue(note_lease.call()).result(timeout=20)
        gates["open"].set()
    found = [left for left, *_ in ran if isinstance(left, float)]
    assert len(found) == 8
    assert min(found) > 30_000


def test_a_claim_that_is_received_too_late_runs_elsewhere(hf: Holdfast) -> None:
    """The worker is frozen: another one takes the task, and the late worker leaves it alone."""
    with working(hf):
        hf.enqueue(block.call(0.5, DIRECT_S + 2.0))
        eventually(lambda: ran)
        listed(hf, QUEUE)
        time.sleep(0.7)
        late = hf.enqueue(note.call("late"))
        with working(hf):
            late.result(timeout=30)
        frozen = ran[0][2]
    runs = [(attempt, thread) for value, attempt, thread in ran if value == "late"]
    assert len(runs) == 1
    assert runs[0][1] != frozen


def test_a_claim_without_a_free_slot_is_given_back(hf: Holdfast) -> None:
    gates["open"] = threading.Event()
    queues = {QUEUE: 1, "beside": 1}
    with working(hf, concurrency=1, queues=queues):
        listed(hf, "beside")
        waiting = hf.enqueue(wait.call("open"))
        beside = hf.enqueue(note_beside.call("beside"))
        # On a busy machine the second claim may get the slot. Then the first one is given back.
        eventually(lambda: len(ran) == 2 or hf.queue("beside").stats().ready == 1)
        gates["open"].set()
        for handle in (waiting, beside):
            handle.result(timeout=20)
    assert sorted((value, attempt) for value, attempt, _ in ran) == [("beside", 1), ("open", 1)]


@pytest.mark.parametrize("grace", [10.0, 0.0])
def test_workers_that_end_lose_no_claim(hf: Holdfast, grace: float) -> None:
    """Tasks arrive all the time while workers start and stop: none has to be taken back."""
    over, sent = threading.Event(), 0

    def produce() -> None:
        nonlocal sent
        while not over.is_set():
            hf.enqueue(note.call(sent))
            sent += 1
            time.sleep(0.002)

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        for _ in range(8):
            before = len(ran)
            with working(hf, grace=grace):
                eventually(lambda before=before: len(ran) > before + 10)
    finally:
        over.set()
        producer.join()
    hf.worker(tasks).run(until_idle=True)
    assert sorted(value for value, *_ in ran) == list(range(sent))
    assert {attempt for _, attempt, _ in ran} == {1}


class Broken(Exception):
    """An error in a worker."""


@pytest.mark.parametrize("sent", [False, True])
def test_a_worker_that_fails_gives_back_a_claim_that_its_last_step_allows(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch, sent: bool
) -> None:
    """The failed step is completed at the end: then the worker is listed, and gets a claim."""
    whole, steps, running = StepSender.answered, 0, list[int]()

    async def answered(self: StepSender, step: Any) -> StepReply:
        nonlocal steps
        steps += bool(ran)
        if steps == 1:
            if sent:
                await whole(self, step)
            raise Broken
        reply = await whole(self, step)
        if steps == 2:
            hf.enqueue(note.call(2))  # the loop reads the message only after the step has returned
            running.append(hf.queue(QUEUE).stats().running)
        return reply

    monkeypatch.setattr(StepSender, "answered", answered)
    worker = hf.worker(tasks, queues={QUEUE: 1}, lease=3600.0)
    with ThreadPoolExecutor() as pool, contextlib.ExitStack() as ending:
        ending.callback(worker.stop, grace=0)
        run = pool.submit(worker.run)
        listed(hf, QUEUE)
        hf.enqueue(note.call(1))
        with pytest.raises(Broken):
            run.result(30)
    assert running == [1]
    stats = hf.queue(QUEUE).stats()
    assert (stats.ready, stats.running) == (1, 0)


def test_a_claim_of_a_queue_that_ends_first_is_given_back_at_once(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker still runs a task of another queue, in its grace."""
    gates["open"] = threading.Event()
    receive, answer, held = Claimer._receive, StepSender.answered, list[Callable[[], None]]()

    def hold(self: Claimer, message: bytes) -> None:
        if self.name == QUEUE:
            held.append(partial(receive, self, message))
        else:
            receive(self, message)

    async def answered(self: StepSender, step: Any) -> StepReply:
        reply = await answer(self, step)
        while held and not step.want:
            asyncio.get_running_loop().call_later(0.02, held.pop())
        return reply

    monkeypatch.setattr(Claimer, "_receive", hold)
    monkeypatch.setattr(StepSender, "answered", answered)
    with working(hf, lease=3600.0, queues={QUEUE: 1, "beside": 1}) as worker:
        hf.enqueue(wait.call("open").options(queue="beside"))
        eventually(lambda: ran)
        listed(hf, QUEUE)
        hf.enqueue(note.call(1))
        assert hf.queue(QUEUE).stats().running == 1
        worker.stop(grace=60)
        eventually(lambda: hf.queue(QUEUE).stats().ready == 1)
        assert hf.queue("beside").stats().running == 1
        gates["open"].set()


def test_a_claim_that_comes_after_its_queue_was_left_ends_soon(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker still leaves another queue. It can give nothing back, so it renews nothing."""
    receive, leave, held = Claimer._receive, Claimer.leave, list[bytes]()

    async def slow(self: Claimer) -> None:
        await leave(self)
        if self.name == QUEUE:
            receive(self, held[0])
        await asyncio.sleep(1)

    with monkeypatch.context() as patched:
        patched.setattr(Claimer, "_receive", lambda _, message: held.append(message))
        patched.setattr(Claimer, "leave", slow)
        with working(hf, lease=3600.0):
            handle = hf.enqueue(note.call(1))
    with working(hf):
        handle.result(timeout=20)
    assert len(held) == 1


def test_a_worker_is_not_listed_after_its_end_though_a_call_failed(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, failed = StepSender.answered, list[bool]()

    async def answered(self: StepSender, step: Any) -> StepReply:
        if not step.want and not failed:
            failed.append(True)
            raise ServerUnavailable("a step", "the connection broke")
        return await whole(self, step)

    monkeypatch.setattr(StepSender, "answered", answered)
    with working(hf):
        pass
    assert failed
    assert hf.queue(QUEUE).stats().waiting_workers == 0
