"""What a server really has of a queue: read key by key, not through any script."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import redis

from holdfast.core.names import Unit
from holdfast.queues import keys
from queues.model.limits import QueueLimit, StoredLimits
from queues.model.steps import Steps

LASTING = frozenset(f"{name}:{line}" for name in ("ready", "due") for line in ("h", "m", "l")) | {
    "bodies",
    "state",
    "leases",
    "dead",
    "expiring",
    "tombstones",
    "settings",
    "unique",
    "step:index",
    "steps",
    "signals",
    "limit:admitted",
    "limit:waiting",
}
"""Keys that end with the tasks they describe, and so need no time to live."""

EXPIRING = frozenset(
    {"idle", "awaited", "throughput", "history", "result", "ledger", "unique:kept", "limit:keys"}
)
"""Keys that must expire, because they may never be used again."""


@dataclass(frozen=True)
class Record:
    """What a queue remembers of a task from its first claim on."""

    token: int
    attempts: int
    crashes: int
    priority: int
    expires: int
    parked: int
    snoozes: int
    note: str


@dataclass(frozen=True)
class Result:
    """What is kept of a task that is done or cancelled."""

    state: str
    attempts: int
    ended_ms: int
    payload: str


@dataclass(frozen=True)
class StoredQueue:
    """All keys of one queue at one moment."""

    bodies: dict[str, int]
    records: dict[str, Record]
    leases: dict[str, int]
    dead: dict[str, int]
    expiring: dict[str, int]
    idle: dict[str, int]
    ready: tuple[list[str], ...]
    due: tuple[dict[str, int], ...]
    tombstones: set[str]
    awaited: dict[str, set[str]]
    paused: bool
    capacity: int | None
    results: dict[str, Result]
    held: dict[str, tuple[int, str]]
    kept: dict[str, tuple[int, str]]
    steps: dict[str, Steps]
    step_fields: tuple[set[str], set[str]]
    limits: StoredLimits
    limit: QueueLimit
    now_ms: int

    @classmethod
    def of(cls, client: redis.Redis, unit: Unit, task_ids: list[str]) -> StoredQueue:
        """Return the content of *unit*, with the results of these tasks."""
        pipe = client.pipeline(transaction=True)
        pipe.hgetall(keys.bodies(unit))
        pipe.hgetall(keys.state(unit))
        for key in (keys.leases(unit), keys.dead(unit), keys.expiring(unit), keys.idle(unit)):
            pipe.zrange(key, 0, -1, withscores=True)
        for key in keys.ready(unit):
            pipe.lrange(key, 0, -1)
        for key in keys.due(unit):
            pipe.zrange(key, 0, -1, withscores=True)
        pipe.smembers(keys.tombstones(unit))
        pipe.hgetall(keys.awaited(unit))
        pipe.hgetall(keys.settings(unit))
        pipe.hgetall(keys.unique(unit))
        pipe.hgetall(keys.kept(unit))
        pipe.zrange(keys.admitted(unit), 0, -1, withscores=True)
        pipe.zrange(keys.limited(unit), 0, -1, withscores=True)
        pipe.hgetall(keys.limit_keys(unit))
        pipe.hgetall(keys.step_index(unit))
        pipe.hkeys(keys.steps(unit))
        pipe.hkeys(keys.signals(unit))
        pipe.time()
        for task_id in task_ids:
            pipe.get(keys.result(unit, task_id))
        bodies, state, leases, dead, expiring, idle, *rest = pipe.execute()
        tombstones, awaited, settings, unique, kept, *limited = rest[6:14]
        index, steps, signals, (now_s, now_us) = rest[14:18]
        found = zip(task_ids, rest[18:], strict=True)
        now_ms = now_s * 1000 + now_us // 1000
        return cls(
            bodies={key.decode(): _value(key, body) for key, body in bodies.items()},
            records={key.decode(): _record(record) for key, record in state.items()},
            leases=_scores(leases),
            dead=_scores(dead),
            expiring=_scores(expiring),
            idle=_scores(idle),
            ready=tuple([entry.decode() for entry in line] for line in rest[:3]),
            due=tuple(map(_scores, rest[3:6])),
            tombstones={entry.decode() for entry in tombstones},
            awaited={key.decode(): set(text.decode().split()) for key, text in awaited.items()},
            paused=b"paused" in settings,
            capacity=int(settings[b"capacity"]) if b"capacity" in settings else None,
            results={task_id: _result(text) for task_id, text in found if text is not None},
            held=_holders(unique),
            kept=_holders(kept),
            steps={key.decode(): Steps.of(packed) for key, packed in index.items()},
            step_fields=({each.decode() for each in steps}, {each.decode() for each in signals}),
            limits=StoredLimits.of(*limited, settings, now_ms),
            limit=QueueLimit.of(settings),
            now_ms=now_ms,
        )

    def ready_ids(self, priority: int) -> list[str]:
        """Return the ready list of a priority, without tombstones."""
        return [task_id for task_id in self.ready[priority - 1] if task_id not in self.tombstones]

    def misplaced(self) -> list[str]:
        """Return the ids that are not in exactly one place, and tombstones without a place."""
        problems = []
        places = [*map(list, (self.leases, self.dead, *self.due))]
        places += [self.ready_ids(priority) for priority in (1, 2, 3)]
        places += self.limits.apart.values()
        for task_id in self.bodies:
            count = sum(place.count(task_id) for place in places)
            if count != 1:
                problems.append(f"{task_id} is in {count} places")
        current = [entry for line in self.ready for entry in line]
        gone = set(current) - self.bodies.keys()
        if gone - self.tombstones or any(current.count(each) != 1 for each in self.tombstones):
            problems.append(f"tombstones has {self.tombstones!r}, and the lines {current!r}")
        for name, known in (
            ("state", self.records),
            ("leases", self.leases),
            ("dead", self.dead),
            ("expiring", self.expiring),
            ("awaited", self.awaited),
            ("admitted", self.limits.admitted),
            ("due", {task_id for due in self.due for task_id in due}),
        ):
            if unknown := set(known) - self.bodies.keys():
                problems.append(f"{name} has {unknown!r}, which no task is")
        for name, known in (("leases", self.leases), ("dead", self.dead)):
            if missing := set(known) - self.records.keys():
                problems.append(f"{name} has {missing!r}, without a record")
        return problems


def immortal(client: redis.Redis, unit: Unit) -> list[str]:
    """Keys of *unit* that are not documented, or should expire and do not."""
    found = list(client.scan_iter(f"{unit.prefix}*", count=1000))
    pipe = client.pipeline(transaction=False)
    for key in found:
        pipe.pttl(key)
    problems = []
    for key, pttl in zip(found, pipe.execute(), strict=True):
        name = key.decode().removeprefix(unit.prefix)
        if name in EXPIRING or name.partition(":")[0] in EXPIRING:
            if pttl == -1:
                problems.append(f"{name} never expires")
        elif name not in LASTING:
            problems.append(f"{name} is not documented")
        elif pttl != -1:
            problems.append(f"{name} expires in {pttl} ms")
    return problems


def _scores(pairs: list[tuple[bytes, float]]) -> dict[str, int]:
    return {entry.decode(): int(score) for entry, score in pairs}


def _holders(found: dict[bytes, bytes]) -> dict[str, tuple[int, str]]:
    holders = {}
    for key, entry in found.items():
        ms, _, task_id = entry.decode().partition(":")
        holders[key.decode()] = (int(ms), task_id)
    return holders


def _value(key: bytes, body: bytes) -> int:
    envelope: dict[str, Any] = json.loads(body)
    assert not {"id", "queue"} & envelope.keys()  # the key and the field name them
    value: int = envelope["args"][0]
    return value


def _record(text: bytes) -> Record:
    *numbers, note = text.decode().split(":", 7)
    token, attempts, crashes, priority, expires, parked, snoozes = map(int, numbers)
    return Record(token, attempts, crashes, priority, expires, parked, snoozes, note)


def _result(text: bytes) -> Result:
    state, attempts, ended_ms, payload = text.decode().split(":", 3)
    return Result(state, int(attempts), int(ended_ms), payload)
