"""Fences are unique and only rise: `rising_fences`."""

from collections import defaultdict
from collections.abc import Iterable

from faults.history import Operation


def rising_fences(operations: Iterable[Operation], *, acquire: str = "acquire") -> None:
    """Check the fences of each key: no two alike, and a later acquire has the higher one.

    Later means called after the other had returned. Of two that overlap in time either may be
    first.

    Args:
        operations: The history; the value of a granted acquire is its fence, None or False
            means: not granted.
        acquire: The kind of operation that returns a fence.

    Raises:
        AssertionError: Two acquires contradict this; it shows both.
    """
    by_key = defaultdict(list)
    for operation in operations:
        refused = operation.value is None or operation.value is False
        if operation.kind == acquire and operation.outcome == "ok" and not refused:
            by_key[operation.key].append(operation)
    for acquires in by_key.values():
        _check_unique(acquires)
        _check_order(acquires)


def _check_unique(acquires: list[Operation]) -> None:
    seen: dict[int, Operation] = {}
    for operation in acquires:
        twin = seen.setdefault(operation.value, operation)
        if twin is not operation:
            raise AssertionError(f"the same fence twice:\n  {twin}\n  {operation}")


def _check_order(acquires: list[Operation]) -> None:
    """Go through time; compare each call with the highest fence returned before it."""
    calls = sorted(acquires, key=lambda operation: operation.invoke_ns)
    returns = sorted(acquires, key=lambda operation: operation.return_ns or 0, reverse=True)
    highest: Operation | None = None
    for call in calls:
        while returns and (returns[-1].return_ns or 0) < call.invoke_ns:
            returned = returns.pop()
            if highest is None or returned.value > highest.value:
                highest = returned
        if highest is not None and call.value < highest.value:
            raise AssertionError(f"a later acquire has a lower fence:\n  {highest}\n  {call}")
