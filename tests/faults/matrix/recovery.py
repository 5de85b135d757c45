"""How long it may take until all is well again: `RECOVERIES`.

The time that counts begins when a plain client of the test saw that the fault was over: that a
successor was elected, or that the server answered. How long the machine took for that is no matter
of Holdfast's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from faults.matrix.cell_result import CellResult

LEASE_S = 1.0


@dataclass(frozen=True)
class Recovery:
    """Something that is measured.

    Attributes:
        what: in words.
        measure: what a result calls it.
        faults: the faults of the cells.
        bound_s: what it is to be at most.
        block: the block of the cells; empty: all blocks.
    """

    what: str
    measure: Literal["recovered_s", "longest_s"]
    faults: Sequence[str]
    bound_s: float
    block: str = ""

    def concerns(self, fault: str, block: str) -> bool:
        """Return whether it is about this cell."""
        return fault in self.faults and self.block in {"", block}


RECOVERIES = [
    Recovery(
        "a failover: from the election until everything works again",
        "recovered_s",
        ["F9", "F9d", "F10", "F10b", "F10d"],
        5.0,
    ),
    Recovery(
        "a restart of the server: from its first answer until everything works again",
        "recovered_s",
        ["F3", "F4", "F5", "F5d", "F20"],
        5.0,
    ),
    Recovery(
        "a worker killed: from the beginning of a task that it did not end until that runs again",
        "longest_s",
        ["F1"],
        LEASE_S + 5.0,
        "queue",
    ),
    Recovery(
        "the same for a queue with six partitions",
        "longest_s",
        ["F1"],
        LEASE_S + 5.0 + 2.0,
        "partitions",
    ),
    Recovery(
        "processes of supervisors killed: the same",
        "longest_s",
        ["F22b"],
        LEASE_S + 5.0,
        "queue",
    ),
    Recovery(
        "supervisors killed: the same, while the only other workers start again, too",
        "longest_s",
        ["F22"],
        LEASE_S + 10.0,
        "queue",
    ),
    Recovery(
        "a primary killed: a task in a queue on another one, from enqueueing until it is done",
        "longest_s",
        ["F10b"],
        5.0,
    ),
]


def late(result: CellResult) -> str:
    """Return what took too long in a cell; empty if nothing did."""
    for each in RECOVERIES:
        seconds: float = getattr(result, each.measure)
        if each.concerns(result.fault, result.block) and seconds > each.bound_s:
            return f"late: {seconds:.2f} s, and at most {each.bound_s:g} s for {each.what}"
    return ""
