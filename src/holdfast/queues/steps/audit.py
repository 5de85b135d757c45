"""Checks the keys of steps against the tasks of their queue."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec

from ...core.audit import Fault, Part, Snapshot, shown

PARTS: Final[Mapping[str, Part]] = {
    "step:index": Part("hash", expires=False),
    "steps": Part("hash", expires=False, reading="names"),
    "signals": Part("hash", expires=False, reading="names"),
}

_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Index(msgspec.Struct, forbid_unknown_fields=True):
    """The index of the steps of a task, as `lua/parts/step_index.lua` writes it."""

    count: _Count
    bytes: _Count
    pending: list[Any]
    last: _Count
    signals: list[tuple[_Count, float, str]]


def faults(unit: Snapshot, tasks: Collection[bytes]) -> Iterator[Fault]:
    """Yield the faults of a queue with these *tasks*."""
    steps, signals = set[bytes](), set[bytes]()
    for task, packed in unit.hash("step:index").items():
        if task not in tasks:
            yield Fault("step:index", f"the steps of {shown(task)} have no task")
        try:
            index = msgspec.msgpack.decode(packed, type=_Index)
        except msgspec.MsgspecError:
            yield Fault("step:index", f"the steps of task {shown(task)} cannot be read")
            continue
        own = {b"%d:%s" % (number, task) for number in range(1, min(index.count, 1000) + 1)}
        if not own <= unit.hash("steps").keys():
            yield Fault("steps", f"a step of task {shown(task)} is missing, so it cannot run")
        steps |= own
        signals |= {b"%d:%s" % (number, task) for number, _, _ in index.signals}
    for part, known in (("steps", steps), ("signals", signals)):
        for field in unit.hash(part).keys() - known:
            yield Fault(part, f"{shown(field)} belongs to no task with steps")
