"""Is there an order of the operations that explains all answers? `linearizability`.

The search of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993) with Lowe's memory
of configurations seen ("Testing for Linearizability", 2017), key by key, since a history is
linearizable if and only if its part for each object is (Herlihy and Wing, 1990).

An operation may come next if it was called before any other that is left has returned, and if the
model allows its answer. The search takes the first such operation, and where none is left to take
it gives the last one back and tries the one behind it.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from faults.checkers.models import Model
from faults.history import Operation

BUDGET = 1_000_000  # operations tried for one key: some seconds
SHOWN = 8  # operations before and after the point where the best order ends


def linearizability(operations: Iterable[Operation], model: Model, *, budget: int = BUDGET) -> None:
    """Check that each key behaved as the model, one operation at a time.

    Args:
        operations: The history. Failed operations were not applied and are left out; unknown
            ones may take effect at any time after their call, or never.
        model: What each key should be; see `faults.checkers.models`.
        budget: Operations to try, for each key, before giving up. Many operations at once and
            many unknown outcomes need many tries.

    Raises:
        AssertionError: A key's operations have no such order, or none was found within the budget;
            it shows how far the best order came and what could not follow.
    """
    by_key = defaultdict(list)
    for operation in operations:
        if operation.outcome != "fail":
            by_key[operation.key].append(operation)
    for key, of_key in by_key.items():
        _Search(key, of_key, model, budget).run()


@dataclass(frozen=True, slots=True)
class _Taken:
    """An operation put in order, and what is needed to give it back."""

    index: int  # where it stood among those left
    operation: Operation
    bit: int
    state_before: Hashable


class _Search:
    def __init__(self, key: str, operations: list[Operation], model: Model, budget: int) -> None:
        self._key = key
        self._model = model
        self._budget = budget
        self._state = model.initial
        by_call = sorted(operations, key=lambda operation: operation.invoke_ns)
        self._left = [(operation, 1 << number) for number, operation in enumerate(by_call)]
        self._owed = sum(operation.outcome == "ok" for operation in operations)
        self._order: list[_Taken] = []
        self._taken_bits = 0
        self._seen: set[tuple[int, Hashable]] = set()
        self._explanation = ""
        self._explained = -1  # length of the order that the explanation is about

    def run(self) -> None:
        """Search until every operation that answered has its place."""
        start = 0
        while self._owed:
            if self._take_first(start):
                start = 0
            else:
                self._explain()
                if not self._order:
                    raise AssertionError(f"{self._key} is not linearizable; {self._explanation}")
                start = self._give_back() + 1

    def _take_first(self, start: int) -> bool:
        """Take the first operation at or behind `start` that may come next."""
        horizon_ns = min((_return_ns(left) for left, _ in self._left[:start]), default=math.inf)
        for index in range(start, len(self._left)):
            operation, bit = self._left[index]
            if operation.invoke_ns > horizon_ns:
                return False
            horizon_ns = min(horizon_ns, _return_ns(operation))
            self._spend()
            state = self._model.step(self._state, operation)
            configuration = self._taken_bits | bit, state
            if state is not None and configuration not in self._seen:
                self._seen.add(configuration)
                self._order.append(_Taken(index, operation, bit, self._state))
                del self._left[index]
                self._taken_bits |= bit
                self._owed -= operation.outcome == "ok"
                self._state = state
                return True
        return False

    def _give_back(self) -> int:
        """Undo the last step; return where its operation stands."""
        last = self._order.pop()
        self._left.insert(last.index, (last.operation, last.bit))
        self._taken_bits ^= last.bit
        self._owed += last.operation.outcome == "ok"
        self._state = last.state_before
        return last.index

    def _spend(self) -> None:
        self._budget -= 1
        if self._budget < 0:
            raise AssertionError(f"{self._key}: undecided within the budget; {self._explanation}")

    def _explain(self) -> None:
        if len(self._order) <= self._explained:
            return
        self._explained = len(self._order)
        before = [str(taken.operation) for taken in self._order[-SHOWN:]]
        after = [str(operation) for operation, _ in self._left[:SHOWN]]
        self._explanation = "\n  ".join(
            [
                f"the best order explains {len(self._order)} operations, at last:",
                *before,
                f"then the state is {self._state!r}, and the next left, by call, are:",
                *after,
            ]
        )


def _return_ns(operation: Operation) -> float:
    if operation.outcome == "unknown" or operation.return_ns is None:
        return math.inf
    return operation.return_ns
