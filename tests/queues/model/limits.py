"""Limits of keys in the model: which tasks have a permit of their key, and which wait for one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queues.model.reference import QueueModel, Task

SWEEP_SLOTS = 100


@dataclass(frozen=True)
class Limited:
    """The limit of a call.

    Attributes:
        definition: `concurrency amount per_ms fair`.
        name: of the limit.
        key: within the limit.
    """

    definition: str
    name: str
    key: str

    @classmethod
    def of(cls, packed: str) -> Limited | None:
        """Return what `Call.packed_limit` returned; None if the call has no limit."""
        if not packed:
            return None
        *definition, name, key = packed.split(" ")
        return cls(" ".join(definition), name, key)

    @property
    def field(self) -> str:
        """Return the name and the key."""
        return f"{self.name} {self.key}"


@dataclass(frozen=True)
class KeyMemory:
    """What is remembered of a key: until when it is paused (ms), and its last starts (ms)."""

    not_before: int = 0
    starts: tuple[int, ...] = ()

    def recent(self, per_ms: int, now_ms: int) -> tuple[int, ...]:
        """Return the starts that still count."""
        return tuple(at for at in self.starts if at > now_ms - per_ms)


@dataclass(frozen=True)
class QueueLimit:
    """The limit of a whole queue, and the last starts (ms); zeros for no limit."""

    concurrency: int = 0
    amount: int = 0
    per_ms: int = 0
    starts: tuple[int, ...] = ()

    @classmethod
    def of(cls, settings: dict[bytes, bytes]) -> QueueLimit:
        """Return what the settings of a queue say."""
        numbers = map(int, settings.get(b"limit", b"0 0 0").split(b" "))
        return cls(*numbers, starts=_starts(settings.get(b"starts", b"-").decode()))

    def recent(self, now_ms: int) -> QueueLimit:
        """Return the same limit with the starts that still count."""
        return replace(self, starts=KeyMemory(0, self.starts).recent(self.per_ms, now_ms))

    def room(self, running: int, now_ms: int) -> int:
        """Return how many more tasks may start now."""
        room = max(0, self.concurrency - running) if self.concurrency else 64
        if self.amount:
            room = min(room, max(0, self.amount - len(self.recent(now_ms).starts)))
        return room

    def next_start(self, now_ms: int) -> list[int]:
        """Return when the rate allows the next start (ms), if it does not now."""
        starts = self.recent(now_ms).starts
        if not self.amount or len(starts) < self.amount:
            return []
        return [starts[len(starts) - self.amount] + self.per_ms]

    def with_starts(self, count: int, now_ms: int) -> QueueLimit:
        """Return the same limit after *count* starts."""
        if not self.amount:
            return self
        return replace(self, starts=self.recent(now_ms).starts + (now_ms + 1,) * count)

    def changed(self, concurrency: int | None, rate: tuple[int, int] | None) -> QueueLimit:
        """Return the limit with what is given; None: as before."""
        changed = self if concurrency is None else replace(self, concurrency=concurrency)
        if rate is None:
            return changed
        starts = self.starts if rate[0] else ()
        return replace(changed, amount=rate[0], per_ms=rate[1], starts=starts)


def define(model: QueueModel, limit: Limited) -> None:
    """Store the definition of a limit, unless there is one."""
    model.definitions.setdefault(limit.name, limit.definition)


def definition(model: QueueModel, limit: Limited) -> tuple[int, int, int, bool]:
    """Return concurrency, amount and window of a limit, and whether its keys take turns."""
    concurrency, amount, per_ms, fair = map(int, model.definitions[limit.name].split(" "))
    return concurrency, amount, per_ms, bool(fair)


def has_one_ready(model: QueueModel, limit: Limited) -> bool:
    """Return whether only one task of a key and priority may be ready at once."""
    _, amount, _, is_fair = definition(model, limit)
    return is_fair or amount > 0


def of_key(model: QueueModel, limit: Limited, *places: str) -> list[Task]:
    """Return the tasks that have a place of a key, and are in one of *places*."""
    return [
        task
        for task in model.tasks.values()
        if task.admitted
        and task.limit is not None
        and task.limit.field == limit.field
        and (not places or task.place in places)
    ]


def permits_left(model: QueueModel, limit: Limited, priority: int) -> float:
    """Return how many more tasks of this priority the key has room for."""
    concurrency, *_ = definition(model, limit)
    left = concurrency - len(of_key(model, limit)) if concurrency else float("inf")
    if has_one_ready(model, limit):
        queued = [t for t in of_key(model, limit, "ready", "due") if t.priority == priority]
        left = min(left, 1 - len(queued))
    return left


def has_successor(model: QueueModel, task: Task) -> bool:
    """Return whether the next task of the key of a running one has its turn already."""
    if not task.admitted or task.limit is None or not has_one_ready(model, task.limit):
        return False
    queued = of_key(model, task.limit, "ready", "due")
    return any(other.priority == task.priority for other in queued)


def keep_apart(model: QueueModel, task: Task) -> None:
    """Let a task wait for a place."""
    model.last += 1
    task.place, task.at, task.admitted = "apart", model.last, False


def admit(model: QueueModel, task: Task, now_ms: int, *, in_turn: bool = False) -> None:
    """Give a place to a task.

    If keys take turns, the first task of a new key is next. It is open when a key that had tasks
    before is new again: `test_turns.py` checks that. A task that follows another one of its key is
    the last one.
    """
    assert task.limit is not None
    task.admitted = True
    *_, is_fair = definition(model, task.limit)
    is_next = is_fair and not in_turn and task.task_id not in model.tombstones
    if is_next and (task.limit.field not in model.had_turns or model.choose()):
        task.place, task.at = "due", now_ms
    else:
        model.to_the_end(task, now_ms)


def enter(model: QueueModel, task: Task, now_ms: int) -> None:
    """Queue a limited task."""
    assert task.limit is not None
    define(model, task.limit)
    if permits_left(model, task.limit, task.priority) > 0:
        admit(model, task, now_ms)
    else:
        keep_apart(model, task)


def admit_next(model: QueueModel, limit: Limited, now_ms: int, most: int = 64) -> int:
    """Admit the next tasks of a key. Return how many."""
    admitted = 0
    for priority in (1, 2, 3):
        waiting = [
            task
            for task in model.tasks.values()
            if task.place == "apart"
            and task.limit is not None
            and task.limit.field == limit.field
            and task.priority == priority
        ]
        waiting.sort(key=lambda task: task.at)
        for task in waiting:
            if admitted < most and permits_left(model, limit, priority) > 0:
                admit(model, task, now_ms)
                admitted += 1
    return admitted


def follow(model: QueueModel, task: Task, now_ms: int) -> None:
    """Admit the next task after one that has started, if only one may be ready at once."""
    assert task.limit is not None
    if not has_one_ready(model, task.limit):
        return
    waiting = [
        other
        for other in model.tasks.values()
        if other.place == "apart"
        and other.limit is not None
        and other.limit.field == task.limit.field
        and other.priority == task.priority
    ]
    if waiting and permits_left(model, task.limit, task.priority) > 0:
        admit(model, min(waiting, key=lambda other: other.at), now_ms, in_turn=True)
    else:
        model.had_turns.add(task.limit.field)


def give_back(model: QueueModel, tasks: Iterable[Task], now_ms: int) -> int:
    """Take the places of *tasks* away, and admit the next ones. Return how many."""
    limits: dict[str, Limited] = {}
    for task in tasks:
        if task.admitted and task.limit is not None:
            task.admitted = False
            limits.setdefault(task.limit.field, task.limit)
    return sum(admit_next(model, limit, now_ms) for limit in limits.values())


def pause(model: QueueModel, limit: Limited, ms: int, now_ms: int) -> None:
    """Let no task of a key start for *ms*."""
    memory = model.memory.get(limit.field, KeyMemory())
    until_ms = max(memory.not_before, now_ms + ms)
    model.memory[limit.field] = KeyMemory(until_ms, memory.starts)


def may_start(model: QueueModel, task: Task, now_ms: int) -> bool:
    """Return whether a task that a step has taken starts; otherwise it has another place."""
    assert task.limit is not None
    limit = task.limit
    define(model, limit)
    concurrency, amount, per_ms, is_fair = definition(model, limit)
    if not task.admitted:
        if is_fair:  # it is queued as a new one
            enter(model, task, now_ms)
            return False
        if permits_left(model, limit, task.priority) <= 0:
            keep_apart(model, task)
            return False
        task.admitted = True
    if concurrency and len(of_key(model, limit, "running")) >= concurrency:
        keep_apart(model, task)
        return False
    memory = model.memory.get(limit.field, KeyMemory())
    recent = memory.recent(per_ms, now_ms)
    until_ms = memory.not_before
    if amount and len(recent) >= amount:
        until_ms = max(until_ms, recent[len(recent) - amount] + per_ms)
    if until_ms > now_ms:
        task.place, task.at = "due", until_ms
        return False
    if amount:
        model.memory[limit.field] = KeyMemory(memory.not_before, (*recent, now_ms + 1))
    return True


def sweep(model: QueueModel, now_ms: int) -> None:
    """Admit what a changed definition allows, in the order of the slots."""
    if not model.sweeps:
        return
    limits = {
        task.limit.field: task.limit
        for task in model.tasks.values()
        if task.place == "apart" and task.limit is not None
    }
    for limit in sorted(limits.values(), key=lambda limit: model.slots[limit.field]):
        admit_next(model, limit, now_ms)
    model.sweeps = False


def differences(model: QueueModel, stored: StoredLimits) -> list[str]:
    """Return what differs on the server, in words."""
    tasks = [task for task in model.tasks.values() if task.limit is not None]
    places = {
        task.task_id: (task.limit.field, 0 if task.place == "running" else task.priority)
        for task in tasks
        if task.admitted and task.limit is not None
    }
    apart: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for task in tasks:
        if task.place == "apart" and task.limit is not None:
            line = apart.setdefault((task.limit.field, task.priority), [])
            line.append((task.at, task.task_id))
    waiting = {line: [task_id for _, task_id in sorted(found)] for line, found in apart.items()}
    now_ms, problems = stored.now_ms, []
    for what, mine, theirs in (
        ("admitted", places, stored.admitted),
        ("apart", waiting, stored.apart),
        ("definitions", model.definitions, stored.definitions),
    ):
        if mine != theirs:
            problems.append(f"{what}: expected {mine!r}, the server has {theirs!r}")
    for field in model.memory.keys() | stored.memory.keys():
        per_ms = int(model.definitions[field.split(" ")[0]].split(" ")[2])
        mine_now, theirs_now = (
            (one.not_before if one.not_before > now_ms else 0, one.recent(per_ms, now_ms))
            for one in (memory.get(field, KeyMemory()) for memory in (model.memory, stored.memory))
        )
        if mine_now != theirs_now:
            problems.append(f"key {field}: expected {mine_now!r}, the server has {theirs_now!r}")
    return problems


@dataclass(frozen=True)
class StoredLimits:
    """What a server has of the limits of a queue.

    Attributes:
        admitted: task → its key, and 0 if it runs, otherwise its priority.
        apart: key and priority → the tasks that are kept apart.
        memory: of each key.
        slots: of each key.
        definitions: by name.
        now_ms: when.
    """

    admitted: dict[str, tuple[str, int]]
    apart: dict[tuple[str, int], list[str]]
    memory: dict[str, KeyMemory]
    slots: dict[str, int]
    definitions: dict[str, str]
    now_ms: int

    @classmethod
    def of(
        cls,
        admitted: Sequence[tuple[bytes, float]],
        limited: Sequence[tuple[bytes, float]],
        found: dict[bytes, bytes],
        settings: dict[bytes, bytes],
        now_ms: int,
    ) -> StoredLimits:
        """Return what the keys of a queue say."""
        fields = {key.decode(): value.decode() for key, value in found.items()}
        slots = {field: int(slot) for field, slot in fields.items() if " " in field}
        names = {slot: field for field, slot in slots.items()}
        apart: dict[tuple[str, int], list[str]] = {}
        for task, score in limited:
            slot, rest = divmod(int(score), 2**28)
            apart.setdefault((names[slot], rest // 2**26), []).append(task.decode())
        return cls(
            {task.decode(): (names[int(score) // 4], int(score) % 4) for task, score in admitted},
            apart,
            {names[int(slot)]: _memory(text) for slot, text in fields.items() if slot.isdecimal()},
            slots,
            {
                name.decode().removeprefix("limit:"): text.decode()
                for name, text in settings.items()
                if name.startswith(b"limit:")
            },
            now_ms,
        )


def _memory(record: str) -> KeyMemory:
    not_before, _, _, starts, _, _ = record.split(" ")
    return KeyMemory(int(not_before), _starts(starts))


def _starts(log: str) -> tuple[int, ...]:
    entries = [] if log == "-" else [each.split("*") for each in log.split(",")]
    return tuple(int(at) for at, n in entries for _ in range(int(n)))
