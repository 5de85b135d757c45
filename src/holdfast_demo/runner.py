"""Run a demo: start its server, kill processes, draw the screen, check the promises, and report."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from redis import RedisError
from rich.console import Console

from .context import context_of
from .demo import TICK_S, Demo, DemoFailed
from .nemesis import KillSchedule
from .report import DemoReport, print_report
from .screen import DemoScreen

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as in shells."""

SIGNALS: Final = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)  # Windows has no SIGHUP
)


def run(demo: Demo, *, as_json: bool = False) -> int:
    """Run a demo from its start to its report. Return the exit code.

    Raises:
        DemoFailed: the demo could not start or continue.
        HoldfastError: the server could not be used.
    """
    console = Console(stderr=as_json, highlight=False, emoji=False)
    demo.check_options()
    try:
        with _signals():
            report = _played(demo, console)
    except KeyboardInterrupt:
        console.print(f"  {demo.stopped}")
        return INTERRUPTED
    except (OSError, RedisError, RuntimeError) as error:
        if isinstance(error, DemoFailed):
            raise
        raise DemoFailed(str(error)) from error
    if as_json:
        print(report.as_json())  # noqa: T201  (the report for programs)
    else:
        print_report(report, console)
    return 0 if report.ok else 1


def _played(demo: Demo, console: Console) -> DemoReport:
    with ExitStack() as ending:
        report = _in_context(demo, console, ending)
        if not report.ok:
            ending.pop_all()  # keep the folder, because it has the evidence
        return report


def _in_context(demo: Demo, console: Console, ending: ExitStack) -> DemoReport:
    with context_of(demo, ending) as context, ExitStack() as opened:
        demo.opened = opened
        if demo.opening:
            console.print(f"\n  {demo.opening}")
        demo.start(context)
        if introduction := demo.introduction():
            console.print(f"\n  {introduction}\n", soft_wrap=True, markup=False)
        opened.callback(_ignore_signals)  # added last, so that it is called first
        kills = KillSchedule(demo.faults(), seconds=demo.duration_s, seed=context.seed)
        try:
            with DemoScreen(console, demo) as screen:
                for _ in _life(demo, kills):
                    screen.show()
        except KeyboardInterrupt:
            print_report(DemoReport.unchecked(demo, kills.killed, context.folder), console)
            raise
        return DemoReport.of(demo, kills.killed, context.folder)


def _life(demo: Demo, kills: KillSchedule) -> Iterator[None]:
    """Run the demo to its end. Yield several times a second."""
    began_s = time.monotonic()
    while demo.poll():
        kills.poll(time.monotonic() - began_s)
        yield
        time.sleep(TICK_S)
    kills.poll(time.monotonic() - began_s)  # on a slow machine some kills may still be due
    yield from demo.finish()


@contextmanager
def _signals() -> Iterator[None]:
    """Let SIGTERM and a closed terminal end the demo as Ctrl-C does. Restore the handlers at the
    end."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore_signals() -> None:
    """Ignore signals while processes are ended: a second Ctrl-C would leave some running."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
