"""What things should do, one operation after another: models for `linearizability`.

A state is any hashable value. `step` answers the state after an operation that was applied in this
state with this answer, or None if that cannot be. An operation with an unknown outcome was applied
at some time or never; a model need not think of "never".
"""

from collections.abc import Hashable
from typing import Any, ClassVar, Protocol

from faults.history import Operation


class Model(Protocol):
    """A thing that is changed by one operation at a time."""

    @property
    def initial(self) -> Hashable:
        """Return the state before the first operation."""
        ...

    def step(self, state: Any, operation: Operation) -> Hashable | None:
        """Return the state after the operation; None: it could not answer so."""
        ...


class Register:
    """One value: "read", "write" (field `value`), "cas" (fields `old`, `new`; answers a bool).

    Values are JSON scalars. The state is a tuple, since None is a value and also means "cannot be".
    """

    initial: ClassVar[tuple[Any]] = (None,)

    def step(self, state: tuple[Any], operation: Operation) -> tuple[Any] | None:
        """Apply one operation."""
        fields, known = operation.fields, operation.outcome == "ok"
        if operation.kind == "read":
            return state if not known or operation.value == state[0] else None
        if operation.kind == "write":
            return (fields["value"],)
        swaps = state[0] == fields["old"]
        if known and operation.value != swaps:
            return None
        return (fields["new"],) if swaps else state


class Counter:
    """A number: "add" (field `amount`; answers the new number or None), "read"."""

    initial = 0

    def step(self, state: int, operation: Operation) -> int | None:
        """Apply one operation."""
        after = state + operation.fields["amount"] if operation.kind == "add" else state
        silent = operation.outcome != "ok" or (operation.kind == "add" and operation.value is None)
        return after if silent or operation.value == after else None


class FifoQueue:
    """A queue: "enqueue" (field `item`), "dequeue" (answers the item, or None if it was empty).

    Items are JSON scalars.
    """

    initial: ClassVar[tuple[Any, ...]] = ()

    def step(self, state: tuple[Any, ...], operation: Operation) -> tuple[Any, ...] | None:
        """Apply one operation."""
        if operation.kind == "enqueue":
            return (*state, operation.fields["item"])
        head = state[0] if state else None
        if operation.outcome == "ok" and operation.value != head:
            return None
        return state[1:]


class FencedLock:
    """A lock: "acquire" (answers the fence, or None if it is held) and "release" (a bool).

    The holder is the field `holder`, else the process. Leases do not end in this model: it is for
    runs in which no holder dies, or a death is put down as a release with unknown outcome. The
    state is (holder, highest fence).
    """

    initial: ClassVar[tuple[str | None, int]] = (None, 0)

    def step(
        self, state: tuple[str | None, int], operation: Operation
    ) -> tuple[str | None, int] | None:
        """Apply one operation."""
        who = operation.fields.get("holder", operation.process)
        if operation.kind == "acquire":
            return self._acquire(state, operation, who)
        releases = state[0] == who
        if operation.outcome == "ok" and operation.value != releases:
            return None
        return (None, state[1]) if releases else state

    def _acquire(
        self, state: tuple[str | None, int], operation: Operation, who: str
    ) -> tuple[str | None, int] | None:
        owner, fence = state
        if operation.outcome != "ok":
            # The fence given out is unknown; only that it is higher than the last counts.
            return (who, fence + 1) if owner is None else state
        if operation.value is None:
            return state if owner is not None else None
        return (who, operation.value) if owner is None and operation.value > fence else None
