"""The server side of the machine: clients, clocks, and workers that only make steps."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import redis

from faults.servers import Server
from holdfast import (
    DefinitionConflict,
    Holdfast,
    QueueAtCapacity,
    ServerRefused,
    SignalRefused,
    TaskExists,
)
from holdfast.core import ledger
from holdfast.core.names import Namespace, Unit
from holdfast.core.script import Script
from holdfast.queues import keys
from holdfast.queues.steps.store import RECORD, WAIT
from queues.model.reference import IDLE_MS, Answer, Claimed, Order

T = TypeVar("T")

STEP = Script.load("holdfast.queues", "step")
RENEW = Script.load("holdfast.queues", "renew")
AWAIT = Script.load("holdfast.queues", "await")
DECLARE = Script.load("holdfast.queues", "declare_limits")

Window = tuple[int, int]
"""Two instants of the server's clock, in microseconds: what lies between them happened then."""


class QueueServer:
    """A server, with clients of both kinds.

    Args:
        server: where the queues are.
        namespace: no other test uses it.

    Attributes:
        plain: a client of redis-py that may send every command.
        clients: of Holdfast; each may give a capacity of its own.
    """

    def __init__(self, server: Server, namespace: str) -> None:
        self.plain: redis.Redis = server.client()
        self.namespace = Namespace.of(namespace)
        self.clients = [Holdfast.from_url(server.url, namespace=namespace) for _ in range(2)]
        for script in (STEP, RENEW, AWAIT, DECLARE, RECORD, WAIT):
            self.plain.script_load(script.source)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients:
            client.close()
        self.plain.close()

    def unit(self, queue: str) -> Unit:
        """Return the queue of that name."""
        return self.namespace.unit(keys.KIND, queue)

    def now_us(self) -> int:
        """Return the time of the server in microseconds."""
        return _us(self.plain.time())

    def timed(self, do: Callable[[], T]) -> tuple[T, Window]:
        """Return what *do* returns, and the times of the server before and after it."""
        begun = self.now_us()
        answer = do()
        return answer, (begun, self.now_us())

    def run(self, script: Script, names: list[str], args: list[Any]) -> tuple[Any, Window]:
        """Call a script directly; the times are taken right before and after it."""
        pipe = self.plain.pipeline(transaction=False)
        pipe.time()
        pipe.evalsha(script.sha1, len(names), *names, *args)
        pipe.time()
        begun, answer, ended = pipe.execute()
        return answer, (_us(begun), _us(ended))

    def forget(self, unit: Unit) -> None:
        """Remove all keys of *unit*."""
        if found := list(self.plain.scan_iter(f"{unit.prefix}*", count=1000)):
            self.plain.delete(*found)


@dataclass
class ModelWorker:
    """A worker of one queue that only makes steps and runs no task.

    Attributes:
        unit: the queue.
        name: for people to read.
        channel: where the server notifies it; it does not listen.
        number: of its last step.
        last: its last step with the answer, if there was one.
    """

    unit: Unit
    name: str
    channel: str
    writer: str = field(default_factory=ledger.new_writer)
    number: int = 0
    last: tuple[Order, Answer] | None = None

    def step(self, server: QueueServer, order: Order, number: int) -> tuple[Answer, Window]:
        """Make a step; the arguments are those of `worker/claimer.py`."""
        unit = self.unit
        names = [str(name) for name in STEP.keys(unit)]
        args = [self.writer, number, order.channel, order.worker, order.want, order.poison_limit]
        args += [order.lease_ms, order.max_crashes, IDLE_MS]
        for one in order.settlements:
            args += [one.task_id, one.token, one.verb, one.ms, one.text, "1000:4:task"]
            if one.verb == "done":
                names.append(keys.result(unit, one.task_id))
        answer, window = server.run(STEP, names, args)
        wait_ms, left, accepted, missing, claimed, asked, _any_events, member_ends, *_, stepped = (
            answer
        )
        assert (missing, member_ends) == (0, 0)
        expired_claims = tuple(
            zip(map(bytes.decode, asked[::2]), map(int, asked[1::2]), strict=True)
        )
        claims = tuple(_claimed(claimed[i : i + 6], stepped) for i in range(0, len(claimed), 6))
        return Answer(wait_ms, left, accepted.decode(), claims, expired_claims), window


def result_or_refusal(do: Callable[[], T]) -> T | tuple[object, ...]:
    """Return what *do* returns, or the refusal that it raises, as a value."""
    try:
        return do()
    except QueueAtCapacity as error:
        return ("full", error.queue, error.capacity, error.stored)
    except TaskExists as error:
        return ("exists", error.queue, error.task_id, error.stored)
    except DefinitionConflict as error:
        return ("conflict", error.stored, error.given, error.enqueued)
    except SignalRefused as error:
        return ("no signal", error.state)
    except ServerRefused as error:
        return ("refused", error.reason.split()[0])


def instants(window: Window) -> Iterator[int]:
    """Return every instant of *window* that differs in whole milliseconds."""
    begun, ended = window
    yield begun
    for ms in range(begun // 1000 + 1, ended // 1000 + 1):
        yield ms * 1000
        if ms * 1000 < ended:
            yield ms * 1000 + 1  # rounded up, this is the next one
    if ended > begun:
        yield ended


def _claimed(parts: list[Any], stepped: list[bytes]) -> Claimed:
    task_id, token, attempt, crashes, snoozes, body = parts
    value = json.loads(body)["args"][0]
    has_steps = task_id in stepped
    return Claimed(task_id.decode(), int(token), attempt, crashes, snoozes, value, has_steps)


def _us(time: Any) -> int:
    seconds, microseconds = time
    return int(seconds) * 1_000_000 + int(microseconds)
