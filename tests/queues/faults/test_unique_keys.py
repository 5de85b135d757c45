"""Unique tasks while replies are lost, workers are killed, and the server restarts or is full."""

import contextlib
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest
import redis

from faults.fixtures import LOST, REPEATED
from faults.halves import Half
from faults.nemesis import Nemesis, kill, pause, restart
from faults.processes import Process
from faults.proxy import Proxy
from faults.servers import Server
from faults.urls import patient
from faults.waiting import eventually
from holdfast import Call, Holdfast, HoldfastError, OutcomeUnknown, Task, Unique
from holdfast.core.names import Namespace, Unit
from holdfast.queues import keys
from holdfast.queues._sync.task_sender import ENQUEUE
from queues.faults.unique_worker import QUEUE, held, kept, postponed, ran, replaced, tasks
from soundness import assert_sound


def unit_in(namespace: str) -> Unit:
    return Namespace.of(namespace).unit(keys.KIND, QUEUE)


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """Return a client that does not use the proxy."""
    ran.clear()
    with Holdfast.from_url(standalone.url, namespace=f"keys-{secrets.token_hex(4)}") as hf:
        yield hf


CALLS: list[tuple[Task[..., Any], str]] = [
    (held, "existing"),
    (replaced, "replaced"),
    (postponed, "postponed"),
]


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize(("task", "enqueued"), CALLS, ids=[name for _, name in CALLS])
def test_a_repeated_call_has_the_answer_of_the_first(
    half: Half, lose: Any, direct: Holdfast, lost: str, task: Task[..., Any], enqueued: str
) -> None:
    """Between the two, another call is applied: the repetition must not undo it."""
    call, later = (task.call(7, text).options(delay=900.0) for text in "bc")
    first = direct.enqueue(task.call(7, "b").options(task_id="first", delay=600.0))
    repeat = lose(lost, ENQUEUE, direct.namespace, lambda hf, **op: hf.enqueue(call, **op))
    assert first.status().args == (7, "b")
    text = "b"
    if lost == "drop_reply":  # the lost call was applied; this one comes later
        text, unique = "c", Unique(key="user", when="replace")
        direct.enqueue(later.options(unique=unique))
    for how in REPEATED:
        again = repeat(how)
        assert (again.task_id, again.enqueued) == ("first", enqueued)
        assert first.status().args == (7, text)
    assert direct.queue(QUEUE).stats().delayed == 1


@pytest.mark.parametrize("lost", LOST)
def test_equal_keys_in_a_lost_batch(half: Half, lose: Any, direct: Holdfast, lost: str) -> None:
    calls = [replaced.call(n % 300, str(n)) for n in range(1201)]
    repeat = lose(
        *(lost, ENQUEUE, direct.namespace, lambda hf, **op: hf.enqueue_many(calls, **op)), nth=2
    )
    for how in REPEATED:
        handles = repeat(how)
        assert [one.enqueued for one in handles] == ["new"] * 300 + ["replaced"] * 901
        assert len({one.task_id for one in handles}) == direct.queue(QUEUE).stats().ready == 300
        assert half.do(handles[300].status()).args == (0, "1200")


def test_keys_are_released_although_the_server_is_full(fresh_server: Server) -> None:
    """New tasks are refused; keys of those that end are free, or kept."""
    ran.clear()
    with Holdfast.from_url(fresh_server.url) as hf, fresh_server.client() as client:
        hf.enqueue_many([held.call(5), kept.call(5), kept.call(6), replaced.call(5)])
        client.config_set("maxmemory", 1)
        client.config_set("maxmemory-policy", "noeviction")
        assert hf.queue(QUEUE).tasks("queued")[2].args == (6,)
        assert hf.queue(QUEUE).handle(hf.queue(QUEUE).tasks("queued")[2].task_id).cancel()
        hf.worker(tasks).run(until_idle=True)
        assert len(ran) == 3
        assert client.hlen(keys.unique(unit_in("holdfast"))) == 0
        client.config_set("maxmemory", 0)
        assert hf.enqueue(held.call(5)).enqueued == "new"


def test_a_key_of_another_type_does_not_stop_the_worker(
    direct: Holdfast, standalone: Server
) -> None:
    unit = unit_in(direct.namespace)
    handles = direct.enqueue_many([held.call(5), kept.call(5), replaced.call(5)])
    for key in (keys.unique(unit), keys.kept(unit)):
        standalone.shared_client.delete(key)
        standalone.shared_client.set(key, "x", ex=60)
    direct.worker(tasks).run(until_idle=True)
    assert [handle.status().state for handle in handles] == ["done"] * 3
    with pytest.raises(HoldfastError):
        direct.enqueue(held.call(5))
    assert direct.queue(QUEUE).stats().ready == 0


@pytest.mark.parametrize(
    ("workers", "trouble_s"), [(2, 4.0), pytest.param(6, 60.0, marks=pytest.mark.long)]
)
def test_a_key_has_one_task_whatever_happens(
    fresh_server: Server, seed: int, workers: int, trouble_s: float
) -> None:
    """Kills, pauses, restarts and lost replies: never two live tasks, and no key is left."""
    namespace = f"keys-{secrets.token_hex(4)}"
    with Proxy(fresh_server.address) as proxy, ExitStack() as open_:
        url = patient(proxy.url, 1)
        started = [
            open_.enter_context(
                Process.python(
                    "-m", "queues.faults.unique_worker", url, namespace, name=f"worker {n}"
                )
            )
            for n in range(workers)
        ]
        for worker in started:
            worker.wait_for_output("serves", 90)
        hf = open_.enter_context(Holdfast.from_url(url, namespace=namespace))
        stop = threading.Event()
        producer = threading.Thread(target=produce, args=(hf, seed, stop))
        producer.start()
        with ExitStack() as trouble:
            trouble.callback(proxy.heal)
            trouble.callback(producer.join)
            trouble.callback(stop.set)
            for n, worker in enumerate(started):
                actions = {"actions": (kill, pause), "every": (0.2, 1.5), "lasting": (0.02, 0.8)}
                trouble.enter_context(Nemesis(seed + n, [worker], **actions))
            server = {"actions": (restart, kill), "every": (0.8, 1.5), "lasting": (0, 0.2)}
            trouble.enter_context(Nemesis(seed, [fresh_server], **server))
            until_s = time.monotonic() + trouble_s
            while time.monotonic() < until_s:
                proxy.drop_reply(match=b"EVALSHA")
                check_live(fresh_server, namespace)
                time.sleep(0.05)
        unit = unit_in(namespace)
        with contextlib.closing(fresh_server.client()) as client:
            eventually(lambda: client.hlen(keys.bodies(unit)) == client.zcard(keys.dead(unit)), 60)
            assert client.hlen(keys.unique(unit)) == 0
            eventually(lambda: not client.exists(keys.kept(unit)))
        assert sum(minute.done for minute in hf.queue(QUEUE).throughput(120)) > 0
        for worker in started:
            worker.stop()
        assert_sound(fresh_server.url, namespace)


def produce(hf: Holdfast, seed: int, stop: threading.Event) -> None:
    """Enqueue tasks with few keys, alone and in batches, and cancel some."""
    choices = random.Random(seed)
    makers = (held, kept, replaced)
    while not stop.is_set():
        calls: list[Call[Any]] = [choices.choice(makers).call(choices.randrange(6)) for _ in "abc"]
        calls.append(postponed.call(choices.randrange(6)).options(delay=0.05))
        try:
            handle = hf.enqueue(choices.choice(calls))
            hf.enqueue_many(calls)
            if choices.random() < 0.1:
                handle.cancel()
        except OutcomeUnknown as error:
            with contextlib.suppress(HoldfastError):
                error.repeat()
        except HoldfastError:
            time.sleep(0.02)


def check_live(server: Server, namespace: str) -> None:
    """Check that there are no two live tasks with one key that is held until the end."""
    unit = unit_in(namespace)
    try:
        with contextlib.closing(server.client()) as client:
            pipe = client.pipeline(transaction=True)
            pipe.hgetall(keys.bodies(unit))
            pipe.zrange(keys.dead(unit), 0, -1)
            bodies, dead = pipe.execute()
    except (redis.RedisError, OSError):
        return  # the server restarts
    live = Counter(
        envelope["unique"]
        for task_id, body in bodies.items()
        if task_id not in dead and (envelope := msgspec.json.decode(body))["task"] == "held"
    )
    assert all(count == 1 for count in live.values()), live
