"""`holdfast demo mail`: thousands of real mails through a real queue."""

from __future__ import annotations

import json
import shutil
import smtplib
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...connection import Embedded, Url, fail
from ...exit_codes import INTERRUPTED
from ...output import console
from ..interruption import end_as_by_ctrl_c
from ..options import AsJson

if TYPE_CHECKING:
    from .events import Event

KEPT = "stopped; the same command goes on from here"
GONE = "stopped; nothing is kept without --embedded FOLDER"

Events = Annotated[
    Path | None,
    typer.Option(
        "--events", metavar="FILE", help="JSON lines instead of the 3,000 included events."
    ),
]
Count = Annotated[
    int | None,
    typer.Option("--count", metavar="N", min=1, help="Only the first so many events."),
]
Workers = Annotated[
    int, typer.Option("--workers", metavar="N", min=1, max=64, help="Worker processes, up to 64.")
]
Concurrency = Annotated[
    int,
    typer.Option(
        "--concurrency",
        metavar="N",
        min=1,
        max=1000,
        help="Mails that one worker sends at once, up to 1,000.",
    ),
]
Smtp = Annotated[
    str | None,
    typer.Option("--smtp", metavar="HOST:PORT", help="Your SMTP server instead of the demo's own."),
]


def mail(
    events: Events = None,
    count: Count = None,
    workers: Workers = 2,
    concurrency: Concurrency = 16,
    embedded: Embedded = None,
    url: Url = None,
    smtp: Smtp = None,
    as_json: AsJson = False,
) -> None:
    """Send thousands of real mails through a real queue, and count them.

    Fake Game's players want mail when something they offered was sold or
    expired, when a sale begins, and when they forgot their password. Every
    event becomes a task: resets with high priority, expired offers with low,
    sales with a delay. Worker processes send the mails to an SMTP server that
    refuses some at first. Then every event is looked up in the server's
    maildir: the exit code is 1 if one is missing, if a sale was mailed before
    its time, or if the records prove that the order was not kept.

    With --embedded, kill it at any time, by kill -9 too, and start it again
    on the same folder. With --smtp nobody can look for the mails: the queue
    must be empty and no task dead. Started again, it repeats mails that were
    sent already, under the same Message-IDs.
    """
    # Imported here: no other command needs the SMTP server and the screen.
    from ..crew import WorkersFailed
    from ..examples import needed_example
    from .run import Plan, run
    from .screen import ProgressScreen
    from .summary import print_summary

    end_as_by_ctrl_c()
    screen = console(stderr=as_json)
    example = needed_example("fakegame/mail.py").parent
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
        screen.print(f"\n  {_introduction(plan.events, workers)}")
        try:
            report = run(plan, ProgressScreen(screen))
        except WorkersFailed as error:
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


def _greet(smtp: str) -> None:
    """Find out now, not after a minute of retries, that nobody listens there."""
    try:
        with smtplib.SMTP(smtp, timeout=10.0):
            pass
    except OSError as error:  # the sockets' own and smtplib's
        raise typer.BadParameter(f"{smtp} does not answer: {error}", param_hint="--smtp") from error


def _read(path: Path, count: int | None) -> list[Event]:
    from .events import read_events

    try:
        return read_events(path, count)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error), param_hint="--events") from error


def _temporary_folder(cleaning: ExitStack) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="holdfast-demo-")).resolve()
    cleaning.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _introduction(events: list[Event], workers: int) -> str:
    from .events import LABELS

    kinds = Counter(event.kind for event in events)
    by = "1 worker" if workers == 1 else f"{workers} workers"
    counts = (f"{label} {kinds[kind]:,}" for kind, label in LABELS.items() if kinds[kind])
    return f"An evening of Fake Game. One mail each, by {by}.\n  {', '.join(counts)}"
