"""What a failing test should show: the logs of the servers, workers and nemeses that took part.

Each of them registers itself when it is made. The fixtures plugin adds what they report to the
report of a failed test.
"""

from typing import Protocol

TAIL_LINES = 20


class Witness(Protocol):
    """Something that can report what it observed."""

    name: str

    @property
    def is_running(self) -> bool:
        """Return whether it still observes."""
        ...

    def report(self) -> str:
        """Return what it saw, at most some tens of lines."""
        ...


_witnesses: list[Witness] = []


def register(witness: Witness) -> None:
    """Ask this witness when the present test fails."""
    _witnesses.append(witness)


def dismiss_finished() -> None:
    """Forget those that ended before the coming test."""
    _witnesses[:] = [witness for witness in _witnesses if witness.is_running]


def reports() -> list[tuple[str, str]]:
    """Return (name, report) of every witness that has something to say."""
    told = [(witness.name, witness.report()) for witness in _witnesses]
    return [(name, text) for name, text in told if text]


def tail(text: str) -> str:
    """Return the last lines of a log."""
    return "\n".join(text.splitlines()[-TAIL_LINES:])
