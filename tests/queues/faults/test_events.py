"""Events under faults: no gaps in the numbers, no doubles, and all of them before the end."""

import secrets
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.processes import Process
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Gap, Holdfast, TaskRegistry, current_task
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues.worker.event_sender import EMIT
from holdfast.testing.background_worker import BackgroundWorker

tasks = TaskRegistry()
go_on = threading.Event()


@tasks.task(queue="noted", result_ttl=60.0)
def emits_events(events: int, seconds: float = 0.0) -> int:
    for n in range(events):
        current_task().emit(n)
        if seconds:
            time.sleep(seconds)
    return events


@tasks.task(queue="noted", result_ttl=60.0)
def holds_on() -> None:
    current_task().emit("began")
    go_on.wait(60)
    current_task().emit("too late")


@tasks.task(queue="noted", result_ttl=60.0, cpu=True)
def computes(events: int) -> None:
    for n in range(events):
        current_task().emit(n)


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    go_on.clear()
    with Holdfast.from_url(standalone.url, namespace=f"noted-{secrets.token_hex(4)}") as hf:
        yield hf


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lost", ["drop_replies", "drop_request"])
def test_lost_calls_store_each_event_once(proxy: Proxy, hf: Holdfast, lost: str) -> None:
    """Every other call is lost on its way there, or its reply on the way back."""
    with (
        Holdfast.from_url(f"{proxy.url}?socket_timeout=1", namespace=hf.namespace) as far,
        BackgroundWorker(far.worker(tasks, queues={"noted": 1})),
    ):
        hf.enqueue(emits_events.call(1)).result(timeout=60)
        match = EMIT.sha1.encode()
        if lost == "drop_replies":
            faults = [proxy.drop_replies(3, match=match)]
        else:
            faults = [proxy.drop_request(n, match=match) for n in (1, 2, 4)]
        handles = [hf.enqueue(emits_events.call(30, 0.01)) for _ in range(3)]
        for handle in handles:
            assert handle.result(timeout=60) == 30
        assert sum(fault.fired for fault in faults) == 3
    for handle in handles:
        events = list(handle.events(timeout=0))
        assert [event.number for event in events] == list(range(1, 31))
        assert [event.data for event in events] == list(range(30))


def test_an_attempt_that_lost_its_claim_adds_nothing(hf: Holdfast, standalone: Server) -> None:
    handle = hf.enqueue(holds_on.call())
    unit = Namespace.of(hf.namespace).unit(keys.KIND, "noted")
    with BackgroundWorker(hf.worker(tasks, queues={"noted": 1})), standalone.client() as client:
        next(iter(handle.events(timeout=60)))
        record = client.hget(keys.state(unit), handle.task_id)
        token, _, rest = record.partition(b":")
        # Another worker has claimed it since.
        later = b"%d:%s" % (int(token) + 1, rest)
        client.hset(keys.state(unit), handle.task_id, later)
        go_on.set()
        eventually(lambda: hf.queue("noted").handle(handle.task_id).status().state == "running")
        time.sleep(0.2)
    assert [event.data for event in handle.events(timeout=0)] == ["began"]


def test_a_full_server_drops_events_and_the_task_is_done(fresh_server: Server) -> None:
    go_on.clear()
    with Holdfast.from_url(fresh_server.url) as hf, fresh_server.client() as client:
        handle = hf.enqueue(holds_on.call())
        with BackgroundWorker(hf.worker(tasks, queues={"noted": 1})):
            next(iter(handle.events(timeout=60)))
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("maxmemory", 1)
            go_on.set()
            handle.result(timeout=60)
            client.config_set("maxmemory", 0)
        assert [event.data for event in handle.events(timeout=0)] == ["began"]


def test_an_outage_delays_the_end_and_loses_nothing(proxy: Proxy, hf: Holdfast) -> None:
    handle = hf.enqueue(emits_events.call(200, 0.005))
    with (
        Holdfast.from_url(f"{proxy.url}?socket_timeout=1", namespace=hf.namespace) as far,
        BackgroundWorker(far.worker(tasks, queues={"noted": 1})),
    ):
        next(iter(handle.events(timeout=60)))
        with proxy.refuse(1.5):
            time.sleep(1.5)
        assert handle.result(timeout=60) == 200
    assert [event.data for event in handle.events(timeout=0)] == list(range(200))


KILLED = textwrap.dedent("""
    import os, sys, time
    from holdfast import Holdfast, TaskRegistry, current_task

    tasks = TaskRegistry()

    @tasks.task(queue="killed", result_ttl=60.0)
    def emits_events(upto: int) -> int:
        attempt = current_task().attempt
        for n in range(upto):
            current_task().emit([attempt, n])
            time.sleep(0.002)
        if attempt == 1:
            os.kill(os.getpid(), 9)
        return attempt

    if __name__ == "__main__":
        with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]) as hf:
            hf.worker(tasks, lease=1.0).run()
""")


def test_after_a_kill_the_numbers_go_on(standalone: Server, tmp_path: Path, hf: Holdfast) -> None:
    """Of the killed attempt a beginning is there, of the other one all, and readers see both."""
    path = tmp_path / "killed.py"
    path.write_text(KILLED)
    call = emits_events.call(100).options(queue="killed")
    handle = hf.enqueue(call)
    with Process.python(path, standalone.url, hf.namespace) as process:
        assert process.wait(60) != 0
    seen: list[object] = []
    reader = threading.Thread(target=lambda: seen.extend(handle.events(timeout=60)))
    reader.start()
    with Process.python(path, standalone.url, hf.namespace) as process:
        assert handle.result(timeout=60) == 2
        process.terminate()
        process.wait(60)
    reader.join(60)
    events = list(handle.events(timeout=0))
    assert seen == events
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    first = [event.data for event in events if event.attempt == 1]
    second = [event.data for event in events if event.attempt == 2]
    assert 0 < len(first) <= 100
    assert first == [[1, n] for n in range(len(first))]
    assert second == [[2, n] for n in range(100)]


def test_readers_that_are_slow_get_gaps_and_no_doubles(hf: Holdfast) -> None:
    handle = hf.enqueue(emits_events.call(5000))
    numbers = 0
    with BackgroundWorker(hf.worker(tasks, queues={"noted": 1})):
        for event in handle.events(timeout=60):
            first, last = (
                (event.first, event.last)
                if isinstance(event, Gap)
                else (event.number, event.number)
            )
            assert first == numbers + 1
            numbers = last
    assert numbers == 5000


def test_a_child_process_waits_for_its_worker(hf: Holdfast) -> None:
    """It cannot fill the memory of the worker: what it reports has gaps, and an end."""
    handle = hf.enqueue(computes.call(20_000))
    with BackgroundWorker(hf.worker(tasks, queues={"noted": 1})):
        handle.result(timeout=60)
    *_, last = handle.events(timeout=0)
    assert (last.number, last.data) == (20_000, 19_999)
