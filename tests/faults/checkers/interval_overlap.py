"""At most so many holders at once: `interval_overlap`.

A permit is held from the return of acquire, when its holder knows of it, until release
is called, or a call reports the loss, or the lease ends, whichever is first. The lease is
counted from the call of the last acquire or renew, as a careful holder counts it, because the
server starts it later. Where the call says too little (an acquire that waited in a queue, renewals
behind the scenes) the holder notes its own reckoning in the field `until_ns`.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from faults.history import Operation

NS = 1_000_000_000


@dataclass(frozen=True)
class Hold:
    """A stretch of time during which a holder may believe in its place."""

    key: str
    holder: str
    start_ns: float
    end_ns: float
    shared: bool = False

    def __str__(self) -> str:
        return f"{self.holder} [{self.start_ns}…{self.end_ns}]"


def interval_overlap(operations: Iterable[Operation], *, lease: float, limit: int = 1) -> None:
    """Check that never more than `limit` holders of one key hold at the same moment.

    Holders that share it (field `shared` of "acquire") count only if one does not.

    Args:
        operations: The history: "acquire" (a value of None or False: not granted), "renew" (False:
            refused), "release", and "lost" (the holder was notified). A holder is the field
            `holder`, without one the process; it holds a key once at a time.
        lease: Seconds that a place lasts without a sign of life; `math.inf` if no holder dies.
        limit: Places for each key: 1 for a lock.

    Raises:
        AssertionError: There were more; it names them and the moment.
        ValueError: An acquire or renew took longer than the lease and has no `until_ns`.
    """
    by_key = defaultdict(list)
    for hold in holds(operations, lease=lease):
        by_key[hold.key].append(hold)
    for key, held in by_key.items():
        _check(key, held, limit)


def holds(operations: Iterable[Operation], *, lease: float) -> list[Hold]:
    """Return every stretch of holding in the history, ordered by its start."""
    by_holder = defaultdict(list)
    for operation in sorted(operations, key=lambda operation: operation.invoke_ns):
        by_holder[operation.key, _holder(operation)].append(operation)
    found = [hold for done in by_holder.values() for hold in _holds_of_one(done, lease * NS)]
    return sorted(found, key=lambda hold: hold.start_ns)


def _holds_of_one(done: list[Operation], lease_ns: float) -> list[Hold]:
    found: list[Hold] = []
    for operation in done:
        if _grants(operation):
            _end(found, operation.invoke_ns)
            found.append(_begin(operation, lease_ns))
        elif operation.kind in ("release", "lost"):
            _end(found, operation.invoke_ns)
        elif operation.kind == "renew" and found and operation.outcome == "ok":
            _renew(found, operation, lease_ns)
    return [hold for hold in found if hold.start_ns < hold.end_ns]


def _grants(operation: Operation) -> bool:
    refused = operation.value is None or operation.value is False
    return operation.kind == "acquire" and operation.outcome == "ok" and not refused


def _begin(operation: Operation, lease_ns: float) -> Hold:
    assert operation.return_ns is not None  # its outcome is "ok"
    until_ns = operation.fields.get("until_ns", operation.invoke_ns + lease_ns)
    if until_ns <= operation.return_ns and "until_ns" not in operation.fields:
        raise ValueError(f"it took longer than a lease; note its until_ns: {operation}")
    shared = bool(operation.fields.get("shared"))
    return Hold(operation.key, _holder(operation), operation.return_ns, until_ns, shared)


def _end(found: list[Hold], at_ns: float) -> None:
    if found:
        found[-1] = replace(found[-1], end_ns=min(found[-1].end_ns, at_ns))


def _renew(found: list[Hold], operation: Operation, lease_ns: float) -> None:
    renewed = _begin(operation, lease_ns)
    if operation.value is False:
        _end(found, renewed.start_ns)
    elif operation.invoke_ns < found[-1].end_ns:
        found[-1] = replace(found[-1], end_ns=max(found[-1].end_ns, renewed.end_ns))
    else:  # its own clock had ended the lease, and the reply says that it still holds the permit
        found.append(replace(renewed, shared=found[-1].shared))


def _holder(operation: Operation) -> str:
    return str(operation.fields.get("holder", operation.process))


def _check(key: str, held: list[Hold], limit: int) -> None:
    present: list[Hold] = []
    for hold in held:
        present = [*(other for other in present if other.end_ns > hold.start_ns), hold]
        if len(present) > limit and not all(one.shared for one in present):
            names = "\n".join(f"  {one}" for one in present)
            raise AssertionError(
                f"{key}: {len(present)} holders at {hold.start_ns}, the limit is {limit}:\n{names}"
            )
