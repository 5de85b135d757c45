"""The state machine: random operations on two queues, compared with the model after each one."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, get_args

import pytest
import redis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holdfast import (
    Call,
    Limit,
    PerKey,
    QueueStats,
    Task,
    TaskHandle,
    TaskRegistry,
    TaskStatus,
    Unique,
)
from holdfast.core.definitions import OnConflict
from holdfast.queues import keys
from holdfast.queues.steps.store import RECORD, WAIT
from queues.model.limits import Limited
from queues.model.queue_server import (
    AWAIT,
    DECLARE,
    RENEW,
    ModelWorker,
    QueueServer,
    Window,
    instants,
    result_or_refusal,
)
from queues.model.reference import (
    PRIORITIES,
    WAIT_NAMES,
    Answer,
    Key,
    New,
    Order,
    QueueModel,
    Settlement,
)
from queues.model.stored_queue import StoredQueue, immortal

SOON_S = 0.002
SOON_MS = 2
FAR_S = 3600.0
FAR_MS = 3_600_000

TASK = "note"
"""The only task; its limit without a name has this one."""

LIMIT_NAMES = ["one", "two", "seldom", "both", "turns", "all"]
QUEUES = st.sampled_from([0, 0, 0, 0, 0, 0, 1])
WORKERS = st.integers(0, 2)
WRITERS = st.integers(0, 1)
CLIENTS = st.sampled_from([0, 0, 1])
TASK_IDS = st.sampled_from("abcdefgh")
WAITS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {}, {}, {"delay": SOON_S}, {"delay": FAR_S}, {"at": 1000.0}, {"at": 2000.0}]
)
EXPIRIES = st.sampled_from([None, FAR_S, FAR_S, SOON_S, datetime(2001, 1, 1, tzinfo=UTC)])
UNIQUE: st.SearchStrategy[dict[str, Any] | None] = st.one_of(
    st.none(),
    st.none(),
    st.fixed_dictionaries(
        {
            "key": st.sampled_from([lambda *_: "x", lambda *_: "y"]),
            "until": st.sampled_from(["start", "start", "end", "end", SOON_S, FAR_S]),
            "when": st.sampled_from(["skip", "replace", "replace", "postpone", "raise"]),
        }
    ),
)
LIMITED = [f"{name} {key}" for name in LIMIT_NAMES for key in "xy"]
LIMITS: st.SearchStrategy[str | None] = st.sampled_from([None, None, None, *LIMITED])
DEFINITIONS = st.sampled_from(
    ["0 0 0 0", "1 0 0 0", "3 0 0 0", f"0 1 {FAR_MS} 0", "0 0 0 1", "2 0 0 1"]
)
AGAIN = st.sampled_from([False, False, True])
LEASES_MS = st.sampled_from([60_000, 60_000, 1])
ENDS = st.sampled_from(
    [
        *[("done", 0), ("done", 60_000), ("dead", 0), ("release", 0)],
        *[("retry", 0), ("retry", SOON_MS), ("retry", FAR_MS)],
        *[("snooze", 0), ("snooze", SOON_MS), ("snooze", FAR_MS), ("give_up", 0)],
        *[("retry_key", SOON_MS), ("retry_key", FAR_MS), ("dead_key", FAR_MS)],
        *[("suspend", 0), ("suspend", 0), ("suspend", 0)],
        *[("park", 0), ("park", SOON_MS), ("park", 60_000), ("crash", 0)],
    ]
)
SETTLEMENTS = st.lists(st.tuples(st.integers(0, 7), ENDS), min_size=1, max_size=4)
LISTED = ("queued", "delayed", "running", "dead")
COUNTER = itertools.count()
MOST_CHOICES = 8
"""Largest number of choices that an operation makes, of those that are tried."""


def limited_task(limit: str) -> Task[..., Any]:
    """Return the task with this limit and key."""
    name, key = limit.split(" ")
    by_key = PerKey.turns(lambda *_: key)
    if name != TASK:
        concurrency = {"one": 1, "two": 2, "seldom": None, "both": 2, "turns": 9, "all": 2}[name]
        rate = Limit(2, FAR_S) if name in ("seldom", "both", "all") else None
        by_key = PerKey(lambda *_: key, concurrency=concurrency, rate=rate, name=name)
        if name in ("turns", "all"):
            by_key = by_key.taking_turns()
    registry = TaskRegistry()

    @registry.task(name=TASK, limit=by_key)
    def note(value: int) -> None: ...

    return note


TASKS = {limit: limited_task(limit) for limit in (*LIMITED, f"{TASK} x", f"{TASK} y")}


@st.composite
def tasks(draw: st.DrawFn) -> dict[str, Any]:
    """Return the options of a task that may be enqueued."""
    options = dict(draw(WAITS))
    expires = draw(EXPIRIES)
    if isinstance(expires, float) and options.get("delay", 0.0) >= expires:
        expires = None  # refused before any I/O; another test's business
    return options | {
        "task_id": draw(st.one_of(TASK_IDS, st.none())),
        "priority": draw(st.sampled_from(PRIORITIES)),
        "expires": expires,
        "unique": draw(UNIQUE),
        "limit": draw(LIMITS),
    }


def _outcome(handle: TaskHandle[Any]) -> tuple[str, str | None]:
    return handle.task_id, handle.enqueued


Effect = Callable[[QueueModel, int], object]
"""What an operation does to the model at an instant (microseconds); what it answers."""


@dataclass(frozen=True)
class Operation:
    """A write that was applied.

    Attributes:
        queues: the queues that it wrote to.
        op_id: its operation id.
        do: performs it, with this operation id.
        answer: what it returned.
        superseded: the ledger entry that shows whether a later one was applied; None: several.
        number: its position among the operations of its writer.
    """

    queues: list[int]
    op_id: str
    do: Callable[[str], object]
    answer: object
    superseded: tuple[int, int] | None
    number: int


def other_choices(made: tuple[bool, ...], number: int) -> list[tuple[bool, ...]]:
    """Return the choices to try next, after *number* were made, which began with *made*."""
    return [(*made, *[False] * n, True) for n in range(min(number, MOST_CHOICES) - len(made))]


class QueueMachine(RuleBasedStateMachine):
    """Two queues with three workers each, and two producers. Subclasses set *server*."""

    server: ClassVar[QueueServer]

    def __init__(self) -> None:
        super().__init__()
        run = next(COUNTER)
        self.names = [f"{run}-a", f"{run}-b"]
        self.units = [self.server.unit(name) for name in self.names]
        self.models = [QueueModel(), QueueModel()]
        self.workers = [
            [ModelWorker(unit, f"worker-{n}", unit.key(f"notify:{n}")) for n in range(3)]
            for unit in self.units
        ]
        self.task_ids: list[list[str]] = [[*"abcdefgh"], [*"abcdefgh"]]
        self.claims: list[list[tuple[str, int]]] = [[], []]
        self.settled: set[tuple[int, str, int]] = set()
        self.recorded: set[tuple[int, str, int, int]] = set()
        self.values = itertools.count()
        # (client, queue) → the capacity that it gives, and what happens on a conflict
        self.given_capacities: dict[tuple[int, int], tuple[int, OnConflict]] = {}
        self.writers = ["producer00000", "producer00001"]  # they name tasks: always the same
        self.numbers = [0, 0]
        self.operations: list[list[Operation]] = [[], []]
        self.ledger: dict[tuple[int, int], int] = {}
        self.touched: set[int] = set()
        self.perishable = ""  # ids of tasks that may expire
        self.only_turns = False  # the limits of all tasks do nothing but make their keys take turns
        self.soon = False  # something is due, expires or ends within milliseconds

    def teardown(self) -> None:
        """Leave nothing behind."""
        for unit in self.units:
            self.server.forget(unit)

    # Producers

    @initialize(
        queue=QUEUES,
        options=st.lists(tasks(), max_size=8),
        perishable=st.sampled_from(["", "a", "ab", "abcdefgh"]),
        only_turns=st.sampled_from([False, False, True]),
    )
    def begin(
        self, queue: int, options: list[dict[str, Any]], perishable: str, only_turns: bool = False
    ) -> None:
        """Enqueue the first tasks; a queue in which all tasks expire is a case of its own."""
        self.perishable, self.only_turns = perishable, only_turns
        self._enqueue_many([(queue, one) for one in options], 0, 0, again=False)

    @rule(
        queue=QUEUES,
        options=tasks(),
        client=CLIENTS,
        writer=WRITERS,
        again=AGAIN,
    )
    def enqueue(
        self, queue: int, options: dict[str, Any], client: int, writer: int, again: bool
    ) -> None:
        """Enqueue one task."""
        call, op_id = self._call(queue, options), self._op_id(writer)
        new = self._new(call, op_id.removeprefix("hf:"), queue)
        hf = self.server.clients[client]
        settlement, outcomes, effect = self._enqueued(queue, [new], client)
        expected: object = (
            outcomes[0] if settlement == "stored" else self._refusal(queue, settlement, client, 0)
        )
        self._write(
            writer,
            op_id,
            lambda op_id: result_or_refusal(lambda: _outcome(hf.enqueue(call, op_id=op_id))),
            {queue: effect},
            expected,
            again=again,
            applied=settlement == "stored",
        )

    @rule(
        picks=st.lists(st.tuples(QUEUES, tasks()), min_size=2, max_size=7),
        client=CLIENTS,
        writer=WRITERS,
        again=AGAIN,
    )
    def enqueue_many(
        self, picks: list[tuple[int, dict[str, Any]]], client: int, writer: int, again: bool
    ) -> None:
        """Enqueue several tasks, some with the same id, perhaps in both queues."""
        self._enqueue_many(picks, client, writer, again=again)

    def _enqueue_many(
        self, picks: list[tuple[int, dict[str, Any]]], client: int, writer: int, *, again: bool
    ) -> None:
        calls = [self._call(queue, options) for queue, options in picks]
        op_id = self._op_id(writer)
        batches: dict[int, list[New]] = {}
        places: list[tuple[int, int]] = []  # of each call: its queue, and its place in the batch
        for i, (call, (queue, _)) in enumerate(zip(calls, picks, strict=True)):
            new = self._new(call, f"{op_id.removeprefix('hf:')}.{i}", queue)
            places.append((queue, len(batches.get(queue, []))))
            batches.setdefault(queue, []).append(new)
        effects: dict[int, Effect] = {}
        expected: object = None
        stored = 0
        found: dict[int, list[tuple[str, str]]] = {}
        for queue, batch in batches.items():
            settlement, found[queue], effects[queue] = self._enqueued(queue, batch, client)
            if settlement != "stored":
                expected = self._refusal(queue, settlement, client, stored)
                break
            stored += len(batch)
        hf = self.server.clients[client]

        def do(op_id: str) -> object:
            return result_or_refusal(
                lambda: [_outcome(one) for one in hf.enqueue_many(calls, op_id=op_id)]
            )

        applied = expected is None
        if applied:
            expected = [found[queue][place] for queue, place in places]
        self._write(
            writer, op_id, do, effects, expected, again=again, applied=applied, in_steps=True
        )

    def _call(self, queue: int, options: dict[str, Any]) -> Call[Any]:
        if (options["task_id"] or "h") not in self.perishable:
            options = options | {"expires": None}
        self.soon |= SOON_S in (options.get("delay"), options["expires"])
        limit = options.get("limit")
        if limit and self.only_turns:
            limit = f"{TASK} {limit[-1]}"
        options = {name: value for name, value in options.items() if name != "limit"}
        call: Call[Any] = Call(
            TASK,
            self.names[queue],
            "medium",
            (next(self.values),),
            definition=TASKS[limit] if limit else None,
        )
        if (unique := options["unique"]) is not None:
            options = options | {"unique": self._unique(options, unique)}
        return call.options(**options)

    def _unique(self, options: dict[str, Any], unique: dict[str, Any]) -> Unique:
        """Return the `Unique` of a call; it is only postponed if it has a delay."""
        self.soon |= unique["until"] == SOON_S
        if unique["when"] != "postpone":
            return Unique(**unique)
        if not {"delay", "at"} & options.keys():
            return Unique(**(unique | {"when": "replace"}))
        return Unique(**unique, at_most=FAR_S + SOON_S if unique["until"] == "end" else None)

    def _new(self, call: Call[Any], label: str, queue: int) -> New:
        task_id = call.task_id or label
        if task_id not in self.task_ids[queue]:
            self.task_ids[queue].append(task_id)
        priority = PRIORITIES.index(call.priority) + 1
        unique = Key.of(call.packed_unique())
        limit = Limited.of(call.packed_limit())
        return New(task_id, call.args[0], priority, call.wait, call.expires, unique, limit)

    def _enqueued(
        self, queue: int, new: list[New], client: int
    ) -> tuple[str, list[tuple[str, str]], Effect]:
        """Return the reply of a batch, the outcome of each call, and its effect on the model."""
        given = self.given_capacities.get((client, queue))

        def effect(model: QueueModel, now_us: int) -> tuple[str, list[tuple[str, str]]]:
            return model.enqueue(new, len(new), given, now_us)

        return *effect(self.models[queue].clone(), self.server.now_us()), effect

    def _refusal(self, queue: int, settlement: str, client: int, stored: int) -> object:
        kind, capacity = settlement.split()
        if kind == "exists":
            return ("exists", self.names[queue], capacity, stored)
        if kind == "full":
            return ("full", self.names[queue], int(capacity), stored)
        return ("conflict", int(capacity) or None, self.given_capacities[client, queue][0], stored)

    # Operators

    @rule(queue=QUEUES, task_id=TASK_IDS, writer=WRITERS, again=AGAIN)
    def cancel(self, queue: int, task_id: str, writer: int, again: bool) -> None:
        """Cancel a task by its handle."""
        handle = self._queue(queue).handle(task_id)
        task = self.models[queue].tasks.get(task_id)
        self._write(
            writer,
            self._op_id(writer),
            lambda op_id: handle.cancel(op_id=op_id),
            {queue: lambda model, now_us: model.cancel(task_id, now_us)},
            task is not None and task.place != "dead",
            again=again,
        )

    @rule(queue=QUEUES, writer=WRITERS, again=AGAIN)
    def pause_or_resume(self, queue: int, writer: int, again: bool) -> None:
        """Pause the queue, or resume it if it is paused."""
        handle = self._queue(queue)
        if self.models[queue].paused:
            self._write(
                writer,
                self._op_id(writer),
                lambda op_id: handle.resume(op_id=op_id),
                {queue: lambda model, _: model.resume()},
                None,
                again=again,
            )
        else:
            self._write(
                writer,
                self._op_id(writer),
                lambda op_id: handle.pause(op_id=op_id),
                {queue: lambda model, _: model.pause()},
                None,
                again=again,
            )

    @precondition(lambda self: any(model.count("dead") for model in self.models))
    @rule(
        queue=QUEUES,
        task_ids=st.one_of(st.none(), st.none(), st.lists(TASK_IDS, max_size=4)),
        writer=WRITERS,
        again=AGAIN,
    )
    def replay(self, queue: int, task_ids: list[str] | None, writer: int, again: bool) -> None:
        """Replay all dead tasks, or those that are named."""
        handle = self._queue(queue)
        self._write(
            writer,
            self._op_id(writer),
            lambda op_id: handle.replay(task_ids, op_id=op_id),
            {queue: lambda model, now_us: model.replay(task_ids, now_us)},
            self.models[queue].clone().replay(task_ids, 0),
            again=again,
        )

    @rule(queue=QUEUES, dead=st.booleans(), writer=WRITERS, again=AGAIN)
    def purge(self, queue: int, dead: bool, writer: int, again: bool) -> None:
        """Purge the queued tasks, or the dead ones."""
        handle = self._queue(queue)
        self._write(
            writer,
            self._op_id(writer),
            lambda op_id: handle.purge(dead=dead, op_id=op_id),
            {queue: lambda model, _: model.purge(dead=dead)},
            self.models[queue].clone().purge(dead=dead),
            again=again,
            in_steps=True,
        )

    @rule(
        queue=QUEUES,
        capacity=st.one_of(st.none(), st.integers(1, 6)),
        client=CLIENTS,
        writer=WRITERS,
        again=AGAIN,
    )
    def redefine(
        self, queue: int, capacity: int | None, client: int, writer: int, again: bool
    ) -> None:
        """Change the capacity; the client gives the new one from now on."""
        handle = self.server.clients[client].queue(self.names[queue])

        def do(op_id: str) -> None:
            handle.redefine(capacity=capacity, op_id=op_id)
            self._say(client, queue, capacity)

        def effect(model: QueueModel, _: int) -> None:
            model.capacity = capacity or 0

        self._write(writer, self._op_id(writer), do, {queue: effect}, None, again=again)

    @rule(
        queue=QUEUES,
        capacity=st.integers(1, 6),
        on_conflict=st.sampled_from(get_args(OnConflict)),
        client=CLIENTS,
    )
    def give_capacity(
        self, queue: int, capacity: int, on_conflict: OnConflict, client: int
    ) -> None:
        """Make a client give a capacity with its tasks; it sends nothing yet."""
        name = self.names[queue]
        self.server.clients[client].queue(name, capacity=capacity, on_conflict=on_conflict)
        self._say(client, queue, capacity, on_conflict)

    def _say(
        self, client: int, queue: int, capacity: int | None, on_conflict: OnConflict | None = None
    ) -> None:
        _, before = self.given_capacities.pop((client, queue), (0, "keep"))
        if capacity is not None:
            self.given_capacities[client, queue] = capacity, on_conflict or before

    @rule(queue=QUEUES, name=st.sampled_from([*LIMIT_NAMES, TASK]), text=DEFINITIONS)
    def declare(self, queue: int, name: str, text: str) -> None:
        """Start a worker of another deploy: it declares another definition of a limit."""
        unit = self.units[queue]
        _, window = self.server.run(DECLARE, list(map(str, DECLARE.keys(unit))), [name, text])

        def effect(model: QueueModel, _: int) -> None:
            if model.definitions.get(name, text) != text:
                model.definitions[name], model.sweeps = text, True
                model.idle.clear()

        self._happened(queue, window, effect, None, check_answer=False)

    @rule(
        queue=QUEUES,
        concurrency=st.sampled_from([0, 0, 1, 3, None]),
        rate=st.sampled_from([(0, 0), (0, 0), (2, FAR_MS), None]),
        writer=WRITERS,
        again=AGAIN,
    )
    def limit(
        self,
        queue: int,
        concurrency: int | None,
        rate: tuple[int, int] | None,
        writer: int,
        again: bool,
    ) -> None:
        """Limit the whole queue; None leaves a limit as it is."""
        given: dict[str, Any] = {} if concurrency is None else {"concurrency": concurrency}
        if rate is not None:
            given["rate"] = Limit(rate[0], rate[1] / 1000) if rate[0] else None
        if not given:
            return
        handle = self._queue(queue)

        def effect(model: QueueModel, _: int) -> None:
            model.limit = model.limit.changed(concurrency, rate)
            model.idle.clear()

        self._write(
            writer,
            self._op_id(writer),
            lambda op_id: handle.limit(**given, op_id=op_id),
            {queue: effect},
            None,
            again=again,
        )

    @rule(queue=QUEUES, task_id=TASK_IDS, worker=WORKERS)
    def wait_for(self, queue: int, task_id: str, worker: int) -> None:
        """Wait for a task as `TaskHandle.result` does."""
        unit, channel = self.units[queue], self.workers[queue][worker].channel
        names = AWAIT.keys(unit, keys.result(unit, task_id))
        _, window = self.server.run(AWAIT, names, [task_id, channel])
        self._happened(queue, window, lambda model, _: model.wait_for(task_id, channel), None)

    # Repeated operations

    @precondition(lambda self: any(self.operations))
    @rule(writer=WRITERS)
    def repeat_the_last_write(self, writer: int) -> None:
        """Repeat a writer's last operation much later, and compare the replies."""
        if self.operations[writer]:
            self._repeat(self.operations[writer][-1])

    @precondition(lambda self: any(self.operations))
    @rule(writer=WRITERS, back=st.integers(1, 5))
    def repeat_an_old_write(self, writer: int, back: int) -> None:
        """Check that an older operation of a writer is refused."""
        for operation in self.operations[writer][-1 - back : -1]:
            entry = operation.superseded
            if entry is not None and self.ledger[entry] > operation.number:
                answer, window = self.server.timed(
                    partial(result_or_refusal, partial(operation.do, operation.op_id))
                )
                assert answer == ("refused", "SUPERSEDED"), answer
                self._nothing_happened(operation.queues, window)

    @rule(queue=QUEUES, worker=WORKERS)
    def repeat_the_last_step(self, queue: int, worker: int) -> None:
        """Repeat a worker's last step much later: it returns the claims that it still holds."""
        self._repeat_step(queue, self.workers[queue][worker])

    @rule(queue=QUEUES, worker=WORKERS)
    def repeat_an_old_step(self, queue: int, worker: int) -> None:
        """Check that an older step is refused, and changes nothing."""
        model_worker = self.workers[queue][worker]
        if model_worker.last is None or model_worker.number < 2:
            return
        order = replace(model_worker.last[0], want=5)
        with pytest.raises(redis.ResponseError, match="SUPERSEDED"):
            model_worker.step(self.server, order, model_worker.number - 1)
        now_us = self.server.now_us()
        self._nothing_happened([queue], (now_us, now_us))

    # Workers

    @rule(
        queue=QUEUES,
        worker=WORKERS,
        want=st.integers(1, 5),
        poison_limit=st.sampled_from([5, 1, 1, 0]),
        lease_ms=LEASES_MS,
        max_crashes=st.sampled_from([3, 2, 2, 1]),
        again=AGAIN,
    )
    def claim(
        self,
        queue: int,
        worker: int,
        want: int,
        poison_limit: int,
        lease_ms: int,
        max_crashes: int,
        again: bool,
    ) -> None:
        """Claim the next tasks; with the shortest lease, the worker is as good as gone."""
        model_worker = self.workers[queue][worker]
        order = Order(
            model_worker.channel, model_worker.name, want, poison_limit, lease_ms, max_crashes, ()
        )
        self._step(queue, model_worker, order, again=again)

    @precondition(lambda self: any(self.claims))
    @rule(
        queue=QUEUES,
        worker=WORKERS,
        want=st.integers(0, 3),
        poison_limit=st.sampled_from([5, 0]),
        lease_ms=LEASES_MS,
        picks=SETTLEMENTS,
        again=AGAIN,
    )
    def settle(
        self,
        queue: int,
        worker: int,
        want: int,
        poison_limit: int,
        lease_ms: int,
        picks: list[tuple[int, tuple[str, int]]],
        again: bool,
    ) -> None:
        """Settle claims, stale ones included, and claim the next tasks."""
        model_worker = self.workers[queue][worker]
        settlements = self._settlements(queue, model_worker, picks)
        order = Order(
            model_worker.channel, model_worker.name, want, poison_limit, lease_ms, 3, settlements
        )
        self._step(queue, model_worker, order, again=again)

    @rule(queue=QUEUES, worker=WORKERS, want=st.integers(1, 5), max_crashes=st.sampled_from([3, 2]))
    def vanish(self, queue: int, worker: int, want: int, max_crashes: int) -> None:
        """Claim the next tasks, and make no more steps."""
        model_worker = self.workers[queue][worker]
        order = Order(model_worker.channel, model_worker.name, want, want, 1, max_crashes)
        self._step(queue, model_worker, order, again=False)

    @precondition(lambda self: self.claims[0])
    @rule(worker=WORKERS, pick=SETTLEMENTS, want=st.integers(0, 1))
    def end(self, worker: int, pick: list[tuple[int, tuple[str, int]]], want: int) -> None:
        """Settle claims that are held, in the queue with more of them."""
        model_worker = self.workers[0][worker]
        settlements = self._settlements(0, model_worker, pick)
        order = Order(model_worker.channel, model_worker.name, want, want, 60_000, 3, settlements)
        self._step(0, model_worker, order, again=False)

    @rule(queue=QUEUES, worker=WORKERS, again=AGAIN)
    def take_leave(self, queue: int, worker: int, again: bool) -> None:
        """Give back all that this worker holds, as one that ends."""
        model_worker = self.workers[queue][worker]
        held = [
            Settlement(task.task_id, task.token, "release", 0, "")
            for task in self.models[queue].tasks.values()
            if task.place == "running" and task.note.split(" ")[1] == model_worker.name
        ]
        order = Order("", model_worker.name, 0, 0, 60_000, 3, tuple(held))
        self._step(queue, model_worker, order, again=again)

    @precondition(lambda self: any(self.claims))
    @rule(queue=QUEUES, picks=st.lists(st.integers(0, 7), min_size=1, max_size=4))
    def renew(self, queue: int, picks: list[int]) -> None:
        """Keep claims alive, as the renewer does; stale ones are lost."""
        candidates = self._candidates(queue)
        if not candidates:
            return
        unit, lease_ms = self.units[queue], 60_000
        held = [candidates[pick % len(candidates)] for pick in picks]
        names = [keys.bodies(unit), keys.state(unit), keys.leases(unit)]
        args = [lease_ms, *(part for claim in held for part in claim)]
        lost, window = self.server.run(RENEW, names, args)
        self._happened(
            queue,
            window,
            lambda model, now_us: model.renew(held, lease_ms, now_us),
            [part.decode() for part in lost],
        )

    @precondition(lambda self: any(self.claims))
    @rule(queue=QUEUES, pick=st.integers(0, 7), ahead=st.sampled_from([1, 1, 1, 0, 2]))
    def record_step(self, queue: int, pick: int, ahead: int) -> None:
        """Store the next step of a task that runs; one that another worker has is refused."""
        candidates = self._candidates(queue)
        if not candidates:
            return
        task_id, token = candidates[pick % len(candidates)]
        task = self.models[queue].tasks.get(task_id)
        ended = task.steps.ended if task and task.steps else 0
        number = max(1, ended + ahead)
        again = ahead == 0 and ended > 0 and (queue, task_id, token, number) in self.recorded
        names = [str(name) for name in RECORD.keys(self.units[queue])]
        args = [task_id, str(token), number, f"{token}:1:0:step:done:1:s1"]
        word, window = self.server.run(RECORD, names, args)
        if word == b"stored":
            self.recorded.add((queue, task_id, token, number))

        def effect(model: QueueModel, _: int) -> str:
            repeats = again and model.holds(task_id, token)
            return "stored" if repeats else model.record_step(task_id, token, number)

        self._happened(queue, window, effect, word.decode())

    @precondition(lambda self: any(self.claims))
    @rule(
        queue=QUEUES,
        pick=st.integers(0, 7),
        kind=st.sampled_from(["sleep", "wait", "wait"]),
        wait_ms=st.sampled_from([-1, 0, SOON_MS, FAR_MS]),
    )
    def wait_step(self, queue: int, pick: int, kind: str, wait_ms: int) -> None:
        """Begin the next step of a task that runs, a sleep or a wait, or end it."""
        candidates = self._candidates(queue)
        if not candidates:
            return
        task_id, token = candidates[pick % len(candidates)]
        task = self.models[queue].tasks.get(task_id)
        number = (task.steps.ended if task and task.steps else 0) + 1
        name = WAIT_NAMES[kind]
        wait_ms = max(0, wait_ms) if kind == "sleep" else wait_ms
        self.soon |= wait_ms == SOON_MS
        names = [str(name) for name in WAIT.keys(self.units[queue])]
        args = [task_id, str(token), number, kind, name, name if kind == "wait" else "", wait_ms]
        reply, window = self.server.run(WAIT, names, [*args, "1"])
        if reply[0] == b"ended":
            self.recorded.add((queue, task_id, token, number))

        def effect(model: QueueModel, now_us: int) -> str:
            return model.wait_step(task_id, token, kind, wait_ms, now_us // 1000)

        self._happened(queue, window, effect, reply[0].decode())

    @rule(
        queue=QUEUES,
        task_id=TASK_IDS,
        name=st.sampled_from(["go", "go", "go", "other"]),
        writer=WRITERS,
        again=AGAIN,
    )
    def signal(self, queue: int, task_id: str, name: str, writer: int, again: bool) -> None:
        """Send a signal to a task, whatever it does."""
        handle = self._queue(queue).handle(task_id)
        word = self.models[queue].clone().signal(task_id, name, 0)
        self._write(
            writer,
            self._op_id(writer),
            lambda op_id: result_or_refusal(lambda: handle.signal(name, 1, op_id=op_id)),
            {queue: lambda model, now_us: model.signal(task_id, name, now_us // 1000)},
            None if word == "sent" else ("no signal", word),
            again=again,
        )

    def _candidates(self, queue: int) -> list[tuple[str, int]]:
        """Return the claims to settle: those that are held, then old ones, the latest first."""
        running = [task for task in self.models[queue].tasks.values() if task.place == "running"]
        running.sort(key=lambda task: (task.token, task.task_id))
        current = [(task.task_id, task.token) for task in running]
        return current + [one for one in reversed(self.claims[queue]) if one not in current][:4]

    def _settlements(
        self, queue: int, model_worker: ModelWorker, picks: list[tuple[int, tuple[str, int]]]
    ) -> tuple[Settlement, ...]:
        candidates = self._candidates(queue)
        if not candidates:
            return ()
        settlements = []
        for pick, (verb, ms) in picks:
            task_id, token = candidates[pick % len(candidates)]
            text = ("=1" if pick % 2 else "!bad-result: x") if verb == "done" else f"{verb}: {ms}"
            if verb == "suspend":
                text = self._suspension(queue, task_id)
            settlements.append(Settlement(task_id, token, verb, ms, text))  # type: ignore[arg-type]
        return tuple(settlements)

    def _suspension(self, queue: int, task_id: str) -> str:
        """Return the reason with which a worker suspends a task."""
        task = self.models[queue].tasks.get(task_id)
        pending = task.steps.pending if task and task.steps else None
        return "waiting: go" if pending and pending[0] == "wait" else "sleeping: sleep"

    def _step(self, queue: int, model_worker: ModelWorker, order: Order, *, again: bool) -> None:
        model_worker.number += 1
        self.soon |= (
            order.lease_ms == 1
            or self._keeps_key_shortly(queue, order)
            or any(one.ms == SOON_MS for one in order.settlements)
        )
        answer, window = model_worker.step(self.server, order, model_worker.number)
        model_worker.last = (order, answer)
        for one, digit in zip(order.settlements, answer.accepted, strict=True):
            if digit == "1":
                mark = (queue, one.task_id, one.token)
                assert mark not in self.settled, f"{mark} was settled twice"
                self.settled.add(mark)
        for claim in answer.claims:
            earlier = [token for task_id, token in self.claims[queue] if task_id == claim.task_id]
            assert claim.token > max(earlier, default=0), f"{claim} after {earlier}"
            assert window[0] <= claim.token <= window[1], (claim, window)
            self.claims[queue].append((claim.task_id, claim.token))
        if answer.claims:  # a new token is the server's clock
            window = (answer.claims[0].token, answer.claims[0].token)
        self._happened(queue, window, lambda model, now_us: model.step(order, now_us), answer)
        if again:
            self._repeat_step(queue, model_worker, answer)

    def _keeps_key_shortly(self, queue: int, order: Order) -> bool:
        """Return whether a task ends that keeps its key for milliseconds."""
        found = (self.models[queue].tasks.get(one.task_id) for one in order.settlements)
        return any(t and t.unique and t.unique.lasts == str(SOON_MS) for t in found)

    def _repeat_step(
        self, queue: int, model_worker: ModelWorker, expected: Answer | None = None
    ) -> None:
        if model_worker.last is None:
            return
        order, before = model_worker.last
        answer, window = model_worker.step(self.server, order, model_worker.number)
        if expected is not None:  # at once, nothing can have changed
            assert answer.claims == expected.claims
        self._happened(
            queue, window, lambda model, now_us: model.repeated(order, before, now_us), answer
        )

    # What all of them do

    def _queue(self, queue: int) -> Any:
        return self.server.clients[0].queue(self.names[queue])

    def _op_id(self, writer: int) -> str:
        self.numbers[writer] += 1
        return f"hf:{self.writers[writer]}.{self.numbers[writer]}"

    def _write(
        self,
        writer: int,
        op_id: str,
        do: Callable[[str], object],
        effects: dict[int, Effect],
        expected: object,
        *,
        again: bool,
        applied: bool = True,
        in_steps: bool = False,
    ) -> None:
        """Do something once, and perhaps once more; remember it for later, if it was applied."""
        answer, window = self.server.timed(lambda: do(op_id))
        assert answer == expected, f"expected {expected!r}, the answer is {answer!r}"
        for queue, effect in effects.items():
            self._happened(queue, window, effect, None, check_answer=False)
        number = self.numbers[writer]
        queues = list(effects)
        entry = None if in_steps or not queues else (queues[0], writer)
        operation = Operation(queues, op_id, do, answer, entry, number)
        if applied:
            if entry is not None:
                self.ledger[entry] = number
            self.operations[writer].append(operation)
        elif len(queues) > 1:  # a part was applied: earlier ones are refused now
            self.operations[writer].clear()
        if again:
            self._repeat(operation)

    def _repeat(self, operation: Operation) -> None:
        answer, window = self.server.timed(lambda: operation.do(operation.op_id))
        assert answer == operation.answer, f"first {operation.answer!r}, repeated {answer!r}"
        self._nothing_happened(operation.queues, window)

    def _nothing_happened(self, queues: Sequence[int], window: Window) -> None:
        for queue in queues:
            self._happened(queue, window, lambda *_: None, None)

    def _happened(
        self,
        queue: int,
        window: Window,
        effect: Effect,
        answer: object,
        *,
        check_answer: bool = True,
    ) -> None:
        """Let the model follow; at one instant of *window* it must do as the server did."""
        stored = StoredQueue.of(self.server.plain, self.units[queue], self.task_ids[queue])
        problems: list[str] = []
        for now_us in instants(window):
            open_choices: list[tuple[bool, ...]] = [()]
            while open_choices:
                model = self.models[queue].clone()
                model.choices, model.chosen = open_choices.pop(), 0
                mine = effect(model, now_us)
                problems = model.differences(stored)
                if check_answer and mine != answer:
                    problems.append(f"expected the answer {mine!r}, the server returned {answer!r}")
                if not problems:
                    break
                open_choices += other_choices(model.choices, model.chosen)
            if not problems:
                model.adopt(stored)
                self.models[queue] = model
                break
        assert not problems, "\n".join(problems)
        problems = stored.misplaced()
        assert not problems, "\n".join(problems)
        self.touched.add(queue)
        if self.soon:  # what was soon is now: the next rule finds the same each time
            time.sleep(2 * SOON_S)
            self.soon = False

    @invariant()
    def public_answers_are_true(self) -> None:
        """Statistics, lists and the status of every task agree with the model."""
        for queue in self.touched:
            handle, model = self._queue(queue), self.models[queue]
            stats, window = self.server.timed(handle.stats)
            stats = replace(stats, oldest_at=None)  # by another clock than that of the model
            assert stats in [self._stats(model, now_us // 1000) for now_us in instants(window)]
            reported, window = self.server.timed(partial(self._reported, queue))
            moments = sorted({now_us // 1000 for now_us in instants(window)})
            # Each was asked for at a moment of its own.
            for what, answer in reported.items():
                assert any(answer == self._expected(queue, what, ms) for ms in moments), (
                    f"{what}: expected {self._expected(queue, what, moments[0])}, reported {answer}"
                )
            assert +self._throughput(queue) == +model.ended
            problems = immortal(self.server.plain, self.units[queue])
            assert not problems, "\n".join(problems)
        self.touched.clear()

    def _throughput(self, queue: int) -> Counter[str]:
        """Return how many tasks have ended, by outcome."""
        minutes = self._queue(queue).throughput(120)
        names = ("done", "retried", "dead", "snoozed", "gave_up")
        return Counter({name: sum(getattr(each, name) for each in minutes) for name in names})

    def _stats(self, model: QueueModel, now_ms: int) -> QueueStats:
        """Return the `stats()` of this moment."""
        due = sum(task.place == "due" and task.at <= now_ms for task in model.tasks.values())
        return QueueStats(
            ready=model.count("ready", "apart") + due,
            delayed=model.count("due") - due,
            running=model.count("running"),
            dead=model.count("dead"),
            waiting_workers=len(model.idle),
            paused=model.paused,
            capacity=model.capacity or None,
            limited=model.count("apart"),
            concurrency=model.limit.concurrency or None,
            rate=(model.limit.amount, model.limit.per_ms / 1000) if model.limit.amount else None,
        )

    def _reported(self, queue: int) -> dict[str, list[str] | TaskStatus]:
        """Return the tasks that `tasks()` lists by state, and the status of each task by id."""
        handle = self._queue(queue)
        reported: dict[str, list[str] | TaskStatus] = {}
        for state in LISTED:
            reported[state] = [one.task_id for one in handle.tasks(state, limit=1000)]
        for task_id in self._asked_about(queue):
            status = handle.handle(task_id).status()
            assert (status.enqueued_at is None) == (task_id not in self.models[queue].tasks)
            reported[task_id] = replace(status, enqueued_at=None)
        return reported

    def _expected(self, queue: int, what: str, now_ms: int) -> list[str] | TaskStatus:
        model = self.models[queue]
        return model.listed(what, now_ms) if what in LISTED else model.status(what, now_ms)

    def _asked_about(self, queue: int) -> list[str]:
        """Return every task that has a trace, and one that has none."""
        known = self.models[queue].tasks.keys() | self.models[queue].results.keys()
        unknown = [task_id for task_id in self.task_ids[queue] if task_id not in known]
        return sorted(known) + unknown[:1]
