"""What a queue is, without a server: exact about order, places, answers and what is remembered.

It knows what the documentation promises, and of the scripts only what can be seen from outside:
bounds (32 leases taken back in a step), reasons, and how long an unknown task is parked.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from holdfast import TaskStatus
from holdfast.core.clock import from_epoch_ms
from holdfast.core.definitions import OnConflict
from queues.model import limits
from queues.model.limits import KeyMemory, Limited, QueueLimit
from queues.model.steps import NEVER_MS, Steps
from queues.model.stored_queue import Record, Result, StoredQueue

Place = Literal["ready", "apart", "due", "running", "dead"]
Verb = Literal[
    *("done", "retry", "snooze", "suspend", "dead", "give_up", "release", "park"),
    *("retry_key", "dead_key"),
]

RECLAIM_LIMIT = 32
IDLE_MS = 30_000
POISON_MS = 1_000
TAKEN_AT_ONCE = 16
PRIORITIES = ("high", "medium", "low")
WAIT_NAMES = {"sleep": "sleep", "wait": "go"}
"""Kind of a step that waits → its name."""

WAITING: tuple[Place, ...] = ("ready", "apart", "due")


@dataclass(frozen=True)
class Key:
    """The unique key of a call.

    Attributes:
        lasts: `start`, `end`, or ms after the task is done.
        when: skip, replace, postpone or raise.
        at_most: ms by which it may be postponed in all; 0: without limit.
        name: the key itself.
    """

    lasts: str
    when: str
    at_most: int
    name: str

    @classmethod
    def of(cls, packed: str) -> Key | None:
        """Return what `Call.packed_unique` returned; None if the call is not unique."""
        if not packed:
            return None
        lasts, when, at_most, name = packed.split(" ")
        return cls(lasts, when, int(at_most), name)


@dataclass
class Task:
    """One task that is neither done nor cancelled.

    Attributes:
        task_id: its id.
        value: its argument, which differs between two lives of an id.
        priority: 1 high, 2 medium, 3 low.
        place: where it is.
        at: its position in the ready list, or ms: when it is due, its lease ends, or it died.
        expires: from when on it must not be begun (ms); 0 for never.
        token: of its last claim.
        attempts: how often it was begun.
        crashes: how many of these ended with their worker.
        parked: since when no worker knew it (ms); 0 for never.
        snoozes: how often it asked to run later.
        since: while it runs: when it was due, None if it stood in a ready line.
        note: who runs it, or what went wrong last.
        recorded: whether it was ever claimed, or died.
        recorded_priority: what the record has, which a later call may have changed since.
        unique: the key in its envelope, or None.
        limit: the limit in its envelope, or None.
        admitted: whether it has a place of its limit key.
        steps: what is stored of its steps and signals; None if nothing is.
    """

    task_id: str
    value: int
    priority: int
    place: Place
    at: int
    expires: int = 0
    token: int = 0
    attempts: int = 0
    crashes: int = 0
    parked: int = 0
    snoozes: int = 0
    since: int | None = None
    note: str = ""
    recorded: bool = False
    recorded_priority: int = 0
    unique: Key | None = None
    limit: Limited | None = None
    admitted: bool = False
    steps: Steps | None = None

    @property
    def has_steps(self) -> bool:
        """Return whether it has asked for a step."""
        return self.steps is not None and self.steps.has_begun

    @property
    def has_begun(self) -> bool:
        """Return whether it runs, or has asked for a step before."""
        return self.place == "running" or self.has_steps


@dataclass(frozen=True)
class New:
    """A task as it is enqueued.

    Attributes:
        task_id: its id.
        value: its argument.
        priority: 1 high, 2 medium, 3 low.
        wait: `0`, `+ms` or `@ms`, as `Call.wait`.
        expires: in the same form, as `Call.expires`.
        unique: its key, or None.
        limit: its limit, or None.
    """

    task_id: str
    value: int
    priority: int
    wait: str
    expires: str
    unique: Key | None = None
    limit: Limited | None = None


@dataclass(frozen=True)
class Settlement:
    """How a worker settles a claim."""

    task_id: str
    token: int
    verb: Verb
    ms: int
    text: str


@dataclass(frozen=True)
class Order:
    """What a worker asks for in one step.

    Attributes:
        channel: where it is notified; empty when it only settles.
        worker: its name.
        want: claims at most.
        poison_limit: poison tasks among them at most.
        lease_ms: life of a claim.
        max_crashes: crashes after which a task is dead.
        settlements: how the worker settles its claims.
    """

    channel: str
    worker: str
    want: int
    poison_limit: int
    lease_ms: int
    max_crashes: int
    settlements: tuple[Settlement, ...] = ()


@dataclass(frozen=True)
class Claimed:
    """A task as a step hands it out."""

    task_id: str
    token: int
    attempt: int
    crashes: int
    snoozes: int
    value: int
    has_steps: bool


@dataclass(frozen=True)
class Answer:
    """The reply of a step; *expired_claims* are claims of its worker with an ended lease."""

    wait_ms: int
    left: int
    accepted: str
    claims: tuple[Claimed, ...]
    expired_claims: tuple[tuple[str, int], ...] = ()


@dataclass
class QueueModel:
    """One queue. Times are given: microseconds of the server's clock.

    The capacity is None until a client gives one, and 0 for no limit. `ended` counts what
    `Throughput` counts.
    """

    tasks: dict[str, Task] = field(default_factory=dict)
    paused: bool = False
    capacity: int | None = None
    awaited: dict[str, set[str]] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    outdated: set[str] = field(default_factory=set)
    idle: dict[str, int] = field(default_factory=dict)
    idle_unsure: bool = False
    tombstones: frozenset[str] = frozenset()
    first: int = 0
    last: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    held: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Key → until when its task may be postponed (ms; 0: without limit), and the task."""
    kept: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Key → until when it is kept (ms), and the task that is done."""
    definitions: dict[str, str] = field(default_factory=dict)
    """Limit → its definition."""
    memory: dict[str, KeyMemory] = field(default_factory=dict)
    """Key of a limit → its pause and its last starts."""
    slots: dict[str, int] = field(default_factory=dict)
    """Key of a limit → its number on the server."""
    sweeps: bool = False
    """Whether a definition was changed, and the next step admits what it allows."""
    had_turns: set[str] = field(default_factory=set)
    """Keys of limits that had their last ready task claimed, and may wait for their next turn."""
    choices: tuple[bool, ...] = ()
    """What `choose` returns for what the promises leave open; False beyond its end."""
    chosen: int = 0
    """How often `choose` was called."""
    limit: QueueLimit = field(default_factory=QueueLimit)
    """The limit of the whole queue."""

    def clone(self) -> QueueModel:
        """Return an independent copy."""
        return replace(
            self,
            tasks={task_id: replace(task) for task_id, task in self.tasks.items()},
            awaited={task_id: set(channels) for task_id, channels in self.awaited.items()},
            results=dict(self.results),
            outdated=set(self.outdated),
            idle=dict(self.idle),
            ended=Counter(self.ended),
            held=dict(self.held),
            kept=dict(self.kept),
            definitions=dict(self.definitions),
            memory=dict(self.memory),
            had_turns=set(self.had_turns),
        )

    def choose(self) -> bool:
        """Return the next of the choices."""
        self.chosen += 1
        return self.chosen <= len(self.choices) and self.choices[self.chosen - 1]

    def count(self, *places: Place) -> int:
        """Return the number of tasks."""
        return sum(task.place in places for task in self.tasks.values())

    # What producers and operators do

    def enqueue(
        self, new: list[New], room: int, definition: tuple[int, OnConflict] | None, now_us: int
    ) -> tuple[str, list[tuple[str, str]]]:
        """Enqueue tasks. Return `stored` or why none is; for each, which task runs and why."""
        if definition is not None:
            given, on_conflict = definition
            if self.capacity is None or on_conflict == "update":
                self.capacity = given
            elif self.capacity != given and on_conflict == "error":
                return f"conflict {self.capacity}", []
        after = self.clone()
        outcomes = []
        changes: list[tuple[Task, New]] = []
        for one in new:
            task_id, outcome = after._enqueue_one(one, now_us, changes)
            if outcome == "exists":
                return f"exists {task_id}", []
            outcomes.append((task_id, outcome))
        for task, one in changes:
            after._change(task, one, now_us)
        known = sum(outcome != "new" for _, outcome in outcomes)
        if self.capacity and room and self.count(*WAITING) + room - known > self.capacity:
            return f"full {self.capacity}", []
        vars(self).update(vars(after))
        added = [self.tasks[task_id] for task_id, outcome in outcomes if outcome == "new"]
        if any(task.place != "apart" for task in added):
            self._forget_idle()
        self.idle_unsure |= bool(added)  # a change may have moved what was claimable at first
        return "stored", outcomes

    def _enqueue_one(
        self, one: New, now_us: int, changes: list[tuple[Task, New]]
    ) -> tuple[str, str]:
        key = one.unique
        if one.task_id in self.tasks:
            return one.task_id, "existing"
        holder = None if key is None else self.holder(key.name, now_us // 1000)
        if key is None or holder is None:
            self._enqueue_new(one, now_us)
            return one.task_id, "new"
        task = self.tasks.get(holder)
        if key.when == "raise":
            return holder, "exists"
        if task is None or task.has_begun or key.when == "skip":
            return holder, "existing"
        changes.append((task, one))
        return holder, "postponed" if key.when == "postpone" else "replaced"

    def holder(self, key: str, now_ms: int) -> str | None:
        """Return the task that holds a key; None if it is free."""
        if key in self.held:
            task = self.tasks[self.held[key][1]]
            if not (task.has_begun and task.unique and task.unique.lasts == "start"):
                return task.task_id
        until_ms, task_id = self.kept.get(key, (0, ""))
        return task_id if until_ms > now_ms else None

    def _change(self, task: Task, one: New, now_us: int) -> None:
        """Put a later call into a task that waits."""
        key = one.unique
        assert key is not None
        now_ms, start = now_us // 1000, task.at if task.place == "due" else 0
        if key.when == "postpone":
            latest = self.held[key.name][0]
            wanted = 0 if one.wait == "0" else _instant(one.wait, now_us)
            start = max(start, min(wanted, latest) if latest else wanted)
        if one.limit is not None:
            limits.define(self, one.limit)
        if task.limit is not None or one.limit is not None:
            self._move_limited(task, one, start, now_ms)
        else:
            if task.place == "ready" and (start > now_ms or task.priority != one.priority):
                task.place, start = "due", max(start, now_ms)
                self.tombstones |= {task.task_id}
            if task.place == "due":
                task.at = start
        task.limit = one.limit
        task.value, task.priority, task.unique = one.value, one.priority, one.unique
        task.expires = 0 if one.expires == "0" else _instant(one.expires, now_us)

    def _move_limited(self, task: Task, one: New, start: int, now_ms: int) -> None:
        """Let a task lose its place if it has another key, priority or start from now on."""
        due_at = task.at if task.place == "due" else 0
        same_key = task.limit and one.limit and task.limit.field == one.limit.field
        if same_key and task.priority == one.priority and start <= max(due_at, now_ms):
            return
        if task.place == "ready":
            self.tombstones |= {task.task_id}
        task.place, task.at = "due", max(start, due_at or now_ms)
        if limits.give_back(self, [task], now_ms):
            self._forget_idle()

    def _take_key(self, task: Task, now_ms: int) -> None:
        """Let a task take its key if it is free; it is not postponed any more."""
        if task.unique is not None and self.holder(task.unique.name, now_ms) is None:
            self.held[task.unique.name] = (now_ms, task.task_id)

    def _release_key(self, task: Task) -> bool:
        """Return whether the task held its key."""
        if task.unique is None or self.held.get(task.unique.name, (0, ""))[1] != task.task_id:
            return False
        del self.held[task.unique.name]
        return True

    def _enqueue_new(self, one: New, now_us: int) -> None:
        task = Task(one.task_id, one.value, one.priority, "ready", 0, limit=one.limit)
        if one.limit is not None:
            limits.define(self, one.limit)
        if one.wait == "0":
            self._queue(task, now_us // 1000)
        else:
            task.place, task.at = "due", _instant(one.wait, now_us)
        task.expires = 0 if one.expires == "0" else _instant(one.expires, now_us)
        self.tasks[one.task_id] = task
        if (key := one.unique) is not None:
            task.unique = key
            latest = now_us // 1000 + key.at_most if key.at_most else 0
            self.held[key.name] = (latest, one.task_id)
        if one.task_id in self.results:
            self.outdated.add(one.task_id)

    def cancel(self, task_id: str, now_us: int) -> bool:
        """Drop a task that has not ended."""
        task = self.tasks.get(task_id)
        if task is None or task.place == "dead":
            return False
        self._end(task_id, Result("cancelled", task.attempts, now_us // 1000, ""))
        if limits.give_back(self, [task], now_us // 1000):
            self._forget_idle()
        return True

    def pause(self) -> None:
        """Let nothing be claimed."""
        self.paused = True

    def resume(self) -> None:
        """Let tasks be claimed."""
        self.paused = False
        self._forget_idle()

    def replay(self, task_ids: list[str] | None, now_us: int) -> int:
        """Queue dead tasks as new ones: those that died first, or those named, in order."""
        if task_ids is None:
            dead = [task for task in self.tasks.values() if task.place == "dead"]
            dead.sort(key=lambda task: (task.at, task.task_id.encode()))
            task_ids = [task.task_id for task in dead]
        replayed = 0
        for task_id in task_ids:
            task = self.tasks.get(task_id)
            if task is not None and task.place == "dead":
                self._queue(task, now_us // 1000)
                task.attempts = task.crashes = task.parked = task.expires = task.snoozes = 0
                task.note = ""
                self._take_key(task, now_us // 1000)
                replayed += 1
        if replayed:
            self._forget_idle()
        return replayed

    def purge(self, *, dead: bool) -> int:
        """Drop what waits, or what is dead."""
        places: tuple[Place, ...] = ("dead",) if dead else WAITING
        dropped = [task.task_id for task in self.tasks.values() if task.place in places]
        for task_id in dropped:
            self._end(task_id, None)
        return len(dropped)

    def wait_for(self, task_id: str, channel: str) -> None:
        """Note that a channel waits for the end of a task."""
        task = self.tasks.get(task_id)
        if task is not None and task.place != "dead":
            self.awaited.setdefault(task_id, set()).add(channel)

    def signal(self, task_id: str, name: str, now_ms: int) -> str:
        """Send a signal. Return what came of it."""
        task = self.tasks.get(task_id)
        if task is None:
            ended = self.results.get(task_id)
            return "unknown" if ended is None else ended.state
        if task.place == "dead":
            return "dead"
        task.steps = (task.steps or Steps()).with_signal(name, now_ms)
        waits = task.place == "due" and task.at > now_ms and task.note.startswith("waiting: ")
        if waits and task.steps.found():
            task.at = now_ms
            self._forget_idle()
        return "sent"

    # What workers do

    def record_step(self, task_id: str, token: int, number: int) -> str:
        """Store that a step has ended."""
        task = self._held(task_id, token)
        if task is None:
            return "lost"
        steps = task.steps or Steps()
        if steps.pending or number != steps.ended + 1:
            return "other"
        task.steps = steps.with_step()
        return "stored"

    def wait_step(self, task_id: str, token: int, kind: str, wait_ms: int, now_ms: int) -> str:
        """Begin the next step, a sleep or a wait, or end it."""
        task = self._held(task_id, token)
        if task is None:
            return "lost"
        task.steps, word = (task.steps or Steps()).with_wait(
            kind, WAIT_NAMES[kind], wait_ms, now_ms
        )
        if task.steps == Steps():
            task.steps = None
        return word

    def holds(self, task_id: str, token: int) -> bool:
        """Return whether this claim stands."""
        return self._held(task_id, token) is not None

    def _held(self, task_id: str, token: int) -> Task | None:
        task = self.tasks.get(task_id)
        return task if task and task.place == "running" and task.token == token else None

    def line(self, now_ms: int) -> list[Task]:
        """Return the tasks in the order of claims: high before low, due before ready."""
        waiting = [
            task
            for task in self.tasks.values()
            if task.place == "ready" or (task.place == "due" and task.at <= now_ms)
        ]
        waiting.sort(key=lambda t: (t.priority, t.place == "ready", t.at, t.task_id.encode()))
        return waiting

    def step(self, order: Order, now_us: int) -> Answer:
        """Settle, take back, claim."""
        now_ms = now_us // 1000
        before = {one.task_id: self.tasks.get(one.task_id) for one in order.settlements}
        accepted = "".join(
            str(int(self._settle(one, now_ms, order.max_crashes))) for one in order.settlements
        )
        freed = [
            before[one.task_id]
            for one, yes in zip(order.settlements, accepted, strict=True)
            if yes == "1" and (one.verb != "release" or self._is_apart(one.task_id))
        ]
        released = [one for one, yes in zip(order.settlements, accepted, strict=True) if yes == "1"]
        for one in reversed(released):
            task = self.tasks.get(one.task_id)
            if one.verb == "release" and task is not None and task.place in {"ready", "apart"}:
                self.first -= 1
                task.at = self.first
        limits.give_back(self, [task for task in freed if task is not None], now_ms)
        taken_back, expired_claims = self._take_back(order, now_ms)
        limits.sweep(self, now_ms)
        room = self.limit.room(self.count("running"), now_ms)
        is_held, want = room < order.want, min(order.want, room)
        claims, poison_left = self._claim(replace(order, want=want), now_us)
        self.limit = self.limit.with_starts(len(claims), now_ms)

        if len(claims) < want or is_held:
            self.idle[order.channel] = now_ms + IDLE_MS
            endless = sum(t.place == "due" and t.at >= NEVER_MS for t in self.tasks.values())
            left = len(self.tasks) - self.count("dead") - endless
            left = self.count("running") if self.paused else left
            if not left:
                wait_ms = -1
            elif is_held and len(claims) >= want:
                leases = [task.at for task in self.tasks.values() if task.place == "running"]
                instants = [*leases, *self.limit.next_start(now_ms)]
                wait_ms = max(0, min(instants) - now_ms) if instants else -1
            else:
                wait_ms = self._wait_ms(now_ms, poison_left=poison_left)
            return Answer(wait_ms, left, accepted, tuple(claims), expired_claims)
        self.idle.pop(order.channel, None)
        at_limit = self.limit.room(self.count("running"), now_ms) <= 0
        if not self.paused and self.line(now_ms) and not at_limit:
            self._forget_idle()
        elif taken_back or order.settlements or self.count("running", "due", "apart"):
            self.idle_unsure = True  # ringing once too often does no harm
        return Answer(0, -1, accepted, tuple(claims), expired_claims)

    def repeated(self, order: Order, before: Answer, now_us: int) -> Answer:
        """Repeat a step: return the claims that this worker still holds, with a full lease."""
        claims = []
        for claim in before.claims:
            task = self.tasks.get(claim.task_id)
            if task is not None and task.place == "running" and task.token == claim.token:
                task.at = max(task.at, now_us // 1000 + order.lease_ms)
                claims.append(replace(claim, has_steps=task.has_steps))
        return Answer(-1, -1, before.accepted, tuple(claims))

    def renew(self, held: list[tuple[str, int]], lease_ms: int, now_us: int) -> list[str]:
        """Renew claims. Return id and token of those that are not held."""
        lost = []
        for task_id, token in held:
            task = self.tasks.get(task_id)
            if task is not None and task.place == "running" and task.token == token:
                task.at = max(task.at, now_us // 1000 + lease_ms)
            else:
                lost += [task_id, str(token)]
        return lost

    def _is_apart(self, task_id: str) -> bool:
        task = self.tasks.get(task_id)
        return task is not None and task.place == "apart"

    def _settle(self, one: Settlement, now_ms: int, max_crashes: int) -> bool:
        task = self.tasks.get(one.task_id)
        if task is None or task.place != "running" or task.token != one.token:
            return False
        if one.verb == "done":
            self._succeed(task, one, now_ms)
        else:
            self._settle_unfinished(task, one, now_ms, max_crashes)
        return True

    def _settle_unfinished(
        self, task: Task, one: Settlement, now_ms: int, max_crashes: int
    ) -> None:
        task.note = one.text
        verb = one.verb.removesuffix("_key")
        if verb != one.verb and task.limit is not None:
            limits.pause(self, task.limit, one.ms, now_ms)
        match verb:
            case "dead" | "give_up":
                self._dead_letter(
                    task, one.text, now_ms, "gave_up" if verb == "give_up" else "dead"
                )
            case "crash":
                self._crash(task, one, now_ms, max_crashes)
            case "park":
                self._park(task, one, now_ms)
            case "retry":
                self.ended["retried"] += 1
                task.place, task.at, task.parked = "due", now_ms + one.ms, 0
            case "snooze":
                self.ended["snoozed"] += 1
                task.place, task.at, task.parked = "due", now_ms + one.ms, 0
                task.attempts -= 1
                task.snoozes += 1
            case "suspend":
                self.ended["snoozed"] += 1
                task.place, task.parked, task.expires = "due", 0, 0
                task.at = (task.steps or Steps()).wakes_ms(now_ms)
                task.attempts -= 1
            case "release":
                self._release(task, now_ms)

    def _release(self, task: Task, now_ms: int) -> None:
        if limits.has_successor(self, task):
            task.place = "apart"
        elif task.since is None:
            self.to_the_end(task, now_ms)
        else:
            task.place, task.at = "due", task.since
        task.parked = 0
        task.attempts -= 1
        self._unstart(task, now_ms)

    def _crash(self, task: Task, one: Settlement, now_ms: int, max_crashes: int) -> None:
        task.crashes += 1
        if task.crashes >= max_crashes:
            self._dead_letter(task, one.text, now_ms)
        else:
            task.place, task.at, task.parked = "due", now_ms, 0

    def _succeed(self, task: Task, one: Settlement, now_ms: int) -> None:
        self.ended["done"] += 1
        if self._release_key(task) and task.unique and task.unique.lasts.isdecimal():
            until_ms = now_ms + int(task.unique.lasts)
            self.kept[task.unique.name] = (until_ms, task.task_id)
        result = Result("done", task.attempts, now_ms, one.text) if one.ms else None
        self._end(one.task_id, result)
        if result is None:  # nor is that of an earlier life kept
            self.results.pop(one.task_id, None)
            self.outdated.discard(one.task_id)

    def _unstart(self, task: Task, now_ms: int) -> None:
        """Let a task that did not really start take back the key that it released."""
        if task.unique is not None and task.unique.lasts == "start":
            self._take_key(task, now_ms)

    def _park(self, task: Task, one: Settlement, now_ms: int) -> None:
        task.parked = task.parked or now_ms
        parked_ms = now_ms - task.parked
        if parked_ms >= one.ms:
            self._dead_letter(task, one.text, now_ms)
        else:
            task.attempts -= 1
            wait_ms = min(max(parked_ms, 1_000), 60_000, one.ms - parked_ms)
            task.place, task.at = "due", now_ms + wait_ms
            self._unstart(task, now_ms)

    def _take_back(self, order: Order, now_ms: int) -> tuple[int, tuple[tuple[str, int], ...]]:
        """Take back running tasks with an ended lease; report those of the worker that asks.

        A step that only settles judges nothing.
        """
        if not order.channel:
            return 0, ()
        late = [t for t in self.tasks.values() if t.place == "running" and t.at <= now_ms]
        late.sort(key=lambda task: (task.at, task.task_id.encode()))
        taken = 0
        expired_claims = []
        freed = []
        for task in late[:RECLAIM_LIMIT]:
            if task.note.split(" ", 1)[0] == order.channel:
                expired_claims.append((task.task_id, task.token))
                continue
            task.crashes += 1
            taken += 1
            freed.append(task)
            if task.crashes >= order.max_crashes:
                reason = f"crashed: {task.crashes} workers vanished while they ran it"
                self._dead_letter(task, reason, now_ms)
            else:  # its old deadline is its place among the due
                task.place, task.note = "due", "crashed: its worker vanished"
        limits.give_back(self, freed, now_ms)
        return taken, tuple(expired_claims)

    def _claim(self, order: Order, now_us: int) -> tuple[list[Claimed], bool]:
        now_ms = now_us // 1000
        claims: list[Claimed] = []
        poison_limit, poison_left = order.poison_limit, False
        skipped: set[str] = set()
        for task in self._taken(order, claims, skipped, now_ms):
            if 0 < task.expires <= now_ms:
                self._dead_letter(task, "expired: it was not begun in time", now_ms)
                limits.give_back(self, [task], now_ms)
                continue
            is_poison = task.crashes >= max(1, order.max_crashes - 1)
            if is_poison and not poison_limit:
                poison_left = True
                skipped.add(task.task_id)
                if task.place == "ready":
                    task.place, task.at = "due", now_ms
                continue
            place, at = task.place, task.at
            if task.limit is not None and not limits.may_start(self, task, now_ms):
                continue
            poison_limit -= is_poison
            task.place, task.at = place, at
            task.since = task.at if task.place == "due" else None
            task.place, task.at = "running", now_ms + order.lease_ms
            task.token = max(task.token + 1, now_us)
            task.attempts += 1
            task.note, task.recorded = f"{order.channel} {order.worker}", True
            task.recorded_priority = task.priority
            if task.since is not None:
                task.note += f" {task.since}"
            if task.unique is not None:
                task.note += " unique"
                if task.unique.lasts == "start":
                    self._release_key(task)
            if task.limit is not None:
                limits.follow(self, task, now_ms)
            claims.append(
                Claimed(
                    task.task_id,
                    task.token,
                    task.attempts,
                    task.crashes,
                    task.snoozes,
                    task.value,
                    has_steps=task.has_steps,
                )
            )
        return claims, poison_left

    def _taken(
        self, order: Order, claims: list[Claimed], skipped: set[str], now_ms: int
    ) -> Iterator[Task]:
        """Yield the tasks that a step examines.

        It takes as many of a set at once as it still wants. A task that gets its place meanwhile
        follows them, whatever its id is.
        """
        for priority, place in itertools.product((1, 2, 3), ("due", "ready")):
            while not self.paused and len(claims) < order.want:
                line = [
                    task
                    for task in self.line(now_ms)
                    if (task.priority, task.place) == (priority, place)
                    and task.task_id not in skipped
                ]
                if not line:
                    break
                yield from line[: min(TAKEN_AT_ONCE, order.want - len(claims))]

    def _wait_ms(self, now_ms: int, *, poison_left: bool) -> int:
        watched = ("running",) if self.paused else ("running", "due")
        instants = [task.at for task in self.tasks.values() if task.place in watched]
        if poison_left:  # it is due, and passed over: what counts is what comes next
            return min([POISON_MS, *(at - now_ms for at in instants if at > now_ms)])
        return max(0, min(instants) - now_ms) if instants else -1

    def _dead_letter(self, task: Task, reason: str, now_ms: int, outcome: str = "dead") -> None:
        self.ended[outcome] += 1
        self._release_key(task)
        task.place, task.at, task.note, task.recorded = "dead", now_ms, reason, True
        task.recorded_priority = task.priority
        self.awaited.pop(task.task_id, None)

    def _end(self, task_id: str, result: Result | None) -> None:
        self._release_key(self.tasks.pop(task_id))
        self.awaited.pop(task_id, None)
        if result is not None:
            self.results[task_id] = result
            self.outdated.discard(task_id)

    def _queue(self, task: Task, now_ms: int) -> None:
        """Queue a task without a delay: behind the others, or apart from them."""
        if task.limit is None:
            self.to_the_end(task, now_ms)
        else:
            limits.enter(self, task, now_ms)

    def to_the_end(self, task: Task, now_ms: int) -> None:
        """Queue a task: as a due one while there is a tombstone of its id."""
        if task.task_id in self.tombstones:
            task.place, task.at = "due", now_ms
        else:
            self.last += 1
            task.place, task.at = "ready", self.last

    def _forget_idle(self) -> None:
        """Forget all idle workers: in this test no process listens to their channels."""
        self.idle.clear()

    # What can be seen

    def differences(self, stored: StoredQueue) -> list[str]:
        """Return what differs on the server, in words."""
        tasks = self.tasks.values()
        waiting = [task for task in tasks if task.place in WAITING]
        expected: dict[str, tuple[object, object]] = {
            "bodies": ({task.task_id: task.value for task in tasks}, stored.bodies),
            "records": (
                {task.task_id: _record(task) for task in tasks if task.recorded},
                {key: self._comparable(key, record) for key, record in stored.records.items()},
            ),
            "leases": (self._scores("running"), stored.leases),
            "dead": (self._scores("dead"), stored.dead),
            "expiring": ({t.task_id: t.expires for t in waiting if t.expires}, stored.expiring),
            "awaited": (self.awaited, stored.awaited),
            "unique": (self.held, stored.held),
            "steps": ({t.task_id: t.steps for t in tasks if t.steps}, stored.steps),
            "step fields": (self._step_fields(), stored.step_fields),
            "settings": ((self.paused, self.capacity), (stored.paused, stored.capacity)),
            "limit": (self.limit.recent(stored.now_ms), stored.limit.recent(stored.now_ms)),
        }
        for number, name in enumerate(PRIORITIES, 1):
            line = [task for task in tasks if task.priority == number]
            ready = sorted((t for t in line if t.place == "ready"), key=lambda task: task.at)
            expected[f"ready {name}"] = ([t.task_id for t in ready], stored.ready_ids(number))
            due = {task.task_id: task.at for task in line if task.place == "due"}
            expected[f"due {name}"] = (due, stored.due[number - 1])
        found = [
            f"{what}: expected {mine!r}, the server has {theirs!r}"
            for what, (mine, theirs) in expected.items()
            if mine != theirs
        ]
        found += self._differing_results(stored)
        found += self._differing_kept(stored)
        found += limits.differences(self, stored.limits)
        # A cancelled id in a ready line may notify for nothing, too.
        unsure = self.idle_unsure or bool(stored.tombstones)
        if stored.idle != self.idle and not (unsure and not stored.idle):
            found.append(f"idle: expected {self.idle!r}, the server has {stored.idle!r}")
        return found

    def _step_fields(self) -> tuple[set[str], set[str]]:
        """Return the fields of the hashes of steps and of signals."""
        stored = [(task.task_id, task.steps) for task in self.tasks.values() if task.steps]
        return (
            {f"{n}:{name}" for name, steps in stored for n in range(1, steps.ended + 1)},
            {f"{one[0]}:{name}" for name, steps in stored for one in steps.signals},
        )

    def adopt(self, stored: StoredQueue) -> None:
        """Take from the server what was open."""
        self.idle, self.idle_unsure = dict(stored.idle), False
        self.tombstones = frozenset(stored.tombstones)
        self.slots = dict(stored.limits.slots)
        for task_id in self.outdated - stored.results.keys():
            self.outdated.discard(task_id)
            del self.results[task_id]

    def status(self, task_id: str, now_ms: int) -> TaskStatus:
        """Return the status of a task as its handle does, without `enqueued_at`."""
        task = self.tasks.get(task_id)
        if task is None:
            ended = self.results.get(task_id)
            if ended is None:
                return TaskStatus(task_id, "unknown")
            return TaskStatus(
                task_id,
                "done" if ended.state == "done" else "cancelled",
                attempts=ended.attempts,
                reason=ended.payload[1:] if ended.payload.startswith("!") else "",
                ended_at=from_epoch_ms(ended.ended_ms),
            )
        state = self.state(task, now_ms)
        kind = task.note.partition(": ")[0] if state in ("queued", "delayed") else ""
        suspended = kind if kind in ("sleeping", "waiting") else ""
        has_end = task.place == "due" and task.at < NEVER_MS
        return TaskStatus(
            task_id,
            state,  # type: ignore[arg-type]
            task="note",
            priority=PRIORITIES[task.priority - 1],  # type: ignore[arg-type]
            args=(task.value,),
            attempts=task.attempts,
            crashes=task.crashes,
            snoozes=task.snoozes,
            unique_key=task.unique.name if task.unique else "",
            limit_key=task.limit.field if task.limit else "",
            limited=state == "queued" and task.place == "apart",
            reason="" if state == "running" else task.note,
            worker=task.note.split(" ")[1] if state == "running" else "",
            due_at=from_epoch_ms(task.at) if has_end else None,
            suspended=suspended,  # type: ignore[arg-type]
            waits_for="go" if suspended == "waiting" else "",
            ended_at=from_epoch_ms(task.at) if task.place == "dead" else None,
        )

    @staticmethod
    def state(task: Task, now_ms: int) -> str:
        """Return the public name of the state of a task."""
        if task.place == "due":
            return "delayed" if task.at > now_ms else "queued"
        return "queued" if task.place in ("ready", "apart") else task.place

    def listed(self, state: str, now_ms: int) -> list[str]:
        """Return the ids that `Queue.tasks` lists, in its order."""
        if state == "queued":
            apart = [task for task in self.tasks.values() if task.place == "apart"]
            apart.sort(key=lambda t: (self.slots[t.limit.field], t.priority, t.at))  # type: ignore[union-attr]
            return [task.task_id for task in [*self.line(now_ms), *apart]]
        found = [task for task in self.tasks.values() if self.state(task, now_ms) == state]
        found.sort(key=lambda task: (task.at, task.task_id.encode()), reverse=state == "dead")
        if state == "delayed":
            found.sort(key=lambda task: task.priority)
        return [task.task_id for task in found]

    def _scores(self, place: Place) -> dict[str, int]:
        return {task.task_id: task.at for task in self.tasks.values() if task.place == place}

    def _comparable(self, task_id: str, record: Record) -> Record:
        """Omit the expiry and the parking time of a dead task, which no script reads."""
        task = self.tasks.get(task_id)
        dead = task is not None and task.place == "dead"
        return replace(record, expires=0, parked=0) if dead else record

    def _differing_kept(self, stored: StoredQueue) -> list[str]:
        """Return what differs. A key that was kept long enough may be there or not."""
        ended = {key for key, (until_ms, _) in self.kept.items() if until_ms <= stored.now_ms}
        mine = {key: one for key, one in self.kept.items() if key not in ended}
        theirs = {key: one for key, one in stored.kept.items() if key not in ended}
        return [f"kept: expected {mine!r}, the server has {theirs!r}"] if mine != theirs else []

    def _differing_results(self, stored: StoredQueue) -> list[str]:
        found = []
        for task_id in self.results.keys() | stored.results.keys():
            mine, theirs = self.results.get(task_id), stored.results.get(task_id)
            if mine != theirs and not (theirs is None and task_id in self.outdated):
                found.append(f"result of {task_id}: expected {mine!r}, the server has {theirs!r}")
        return found


def _record(task: Task) -> Record:
    dead, running = task.place == "dead", task.place == "running"
    return Record(
        task.token,
        task.attempts,
        task.crashes,
        task.recorded_priority,
        task.expires if running else 0,
        0 if dead else task.parked,
        task.snoozes,
        task.note,
    )


def _instant(time: str, now_us: int) -> int:
    """Return the instant of `+ms` (never early: rounded up) or `@ms`."""
    return int(time[1:]) + (-(-now_us // 1000) if time[0] == "+" else 0)
