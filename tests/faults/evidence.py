"""What a failing test should show: the logs of the servers, workers and nemeses that took part.

Each of them registers itself when it is made. The fixtures plugin adds what they report to the
report of a failed test.
"""

from typing import Protocol

TAIL_LINES = 20


class Reporter(Protocol):
    """A server, process or nemesis that can report what it observed."""

    name: str

    @property
    def is_running(self) -> bool:
        """Return whether it still observes."""
        ...

    def report(self) -> str:
        """Return what it saw, at most some tens of lines."""
        ...


_reporters: list[Reporter] = []


def register(reporter: Reporter) -> None:
    """Ask this reporter when the present test fails."""
    _reporters.append(reporter)


def dismiss_finished() -> None:
    """Forget those that ended before the coming test."""
    _reporters[:] = [reporter for reporter in _reporters if reporter.is_running]


def reports() -> list[tuple[str, str]]:
    """Return (name, report) of every reporter with a text."""
    found = [(reporter.name, reporter.report()) for reporter in _reporters]
    return [(name, text) for name, text in found if text]


def tail(text: str) -> str:
    """Return the last lines of a log."""
    return "\n".join(text.splitlines()[-TAIL_LINES:])
