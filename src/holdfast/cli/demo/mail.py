"""`holdfast demo mail`: some thousands of real mails through a real queue."""

from __future__ import annotations

import json
import shutil
import signal
import smtplib
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..connection import fail

if TYPE_CHECKING:
    from .events import Event

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
KEPT = "stopped; the same command goes on from here"
GONE = "stopped; nothing is kept without --embedded FOLDER"


def mail(
    events: Annotated[
        Path | None, typer.Option(help="JSON lines of market events instead of the 3,000 included.")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, help="Only the first so many events.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Worker processes.")] = 2,
    concurrency: Annotated[
        int, typer.Option(min=1, max=1000, help="Mails that one worker sends at a time.")
    ] = 16,
    embedded: Annotated[
        Path | None,
        typer.Option(help="Folder of queue and maildir, to go on in after a kill. Beats --url."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(envvar="HOLDFAST_URL", help="Your Valkey or Redis, not the bundled one."),
    ] = None,
    smtp: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Your SMTP server instead of the demo's own."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Send thousands of real mails through a real queue, and count them.

    Fake Game's players want mail when something they offered was sold or
    expired. Every event becomes a task; worker processes send the mails to an
    SMTP server that refuses some at first. Then every event is looked up in
    the server's maildir: the exit code is 1 if one is missing.

    With --embedded, kill it at any time, by kill -9 too, and start it again
    on the same folder. With --smtp nobody can look for the mails: the queue
    must be empty and no task dead. Started again, it repeats mails that were
    sent already, under the same Message-IDs.
    """
    # Imported here: the other commands need neither the SMTP server nor the screen.
    from ... import HoldfastError
    from ..output import console
    from .crew import WorkersFailed
    from .events import example_folder
    from .run import Plan, run
    from .screen import screen_on
    from .summary import print_summary

    _end_like_ctrl_c()
    screen = console(stderr=as_json)
    example = example_folder()
    if smtp:
        _greet(smtp)
    with ExitStack() as cleaning:
        plan = Plan(
            events=_read(events or example / "events.jsonl", count),
            example=example,
            folder=embedded.resolve() if embedded else _temporary_folder(cleaning),
            workers=workers,
            concurrency=concurrency,
            url=None if embedded else url,
            smtp=smtp,
        )
        screen.print(f"\n  {_greeting(plan.events, workers)}")
        try:
            report = run(plan, screen_on(screen))
        except (HoldfastError, WorkersFailed) as error:
            fail(str(error))
        except KeyboardInterrupt:
            screen.print(f"  {KEPT if embedded else GONE}")
            raise typer.Exit(INTERRUPTED) from None
        if not report.ok:
            cleaning.pop_all()  # somebody will want to look
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=2))
    else:
        print_summary(report, screen)
    raise typer.Exit(0 if report.ok else 1)


def _read(path: Path, count: int | None) -> list[Event]:
    from .events import read_events

    try:
        return read_events(path, count)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error), param_hint="--events") from error


def _end_like_ctrl_c() -> None:
    """Have SIGTERM and a closed terminal stop the workers and remove what is temporary."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), signal.default_int_handler)


def _greet(smtp: str) -> None:
    """Find out now, not after a minute of retries, that nobody listens there."""
    try:
        with smtplib.SMTP(smtp, timeout=10.0):
            pass
    except OSError as error:  # that of the socket, and smtplib's own
        raise typer.BadParameter(f"{smtp} does not answer: {error}", param_hint="--smtp") from error


def _greeting(events: list[Event], workers: int) -> str:
    sold = sum(event.kind == "sold" for event in events)
    return (
        f"Fake Game: {sold:,} items sold, {len(events) - sold:,} expired. "
        f"One mail each, by {workers} workers."
    )


def _temporary_folder(cleaning: ExitStack) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="holdfast-demo-")).resolve()
    cleaning.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder
