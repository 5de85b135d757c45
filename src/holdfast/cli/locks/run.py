"""`holdfast locks run NAME -- COMMAND` runs a command while a lock is held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ... import HoldfastError, LeaseLost, LockTimeout, NotDefined
from ..codes import WRONG_USAGE
from ..connection import Embedded, Namespace, Url, connected, fail
from ..output import warn
from .codes import LOST, NO_COMMAND, NOT_EXECUTABLE, SIGNALLED, TIMED_OUT, UNABLE
from .command import Ended, can_run, run_under
from .options import Timeout, finite
from .places import IsSemaphore, Name
from .signals import Signals

if TYPE_CHECKING:
    from ... import Holdfast, Lease, Lock, Semaphore


def run(
    name: Name,
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="What to run, and its arguments, after `--`."),
    ],
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    lease: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=1.0,
            max=86_400.0,
            callback=finite,
            help="How soon the lock of a dead process is free; at least 1.",
        ),
    ] = 10.0,
    timeout: Timeout = None,
    grace: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.0,
            callback=finite,
            help="How long the command may take to end when the lease is lost.",
        ),
    ] = 5.0,
    semaphore: IsSemaphore = False,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, max=1_000_000, help="Places of the semaphore, said at least once."
        ),
    ] = None,
) -> None:
    """Wait for a lock, run a command while it is held, and give it back.

    As in `holdfast locks run nightly --timeout 60 -- ./backup --all`. The
    command finds its fence in HOLDFAST_FENCE. The lease is renewed while it
    runs; when it is lost, the command is ended, by SIGTERM and after the grace
    by SIGKILL, also if this process was killed or stopped. SIGINT, SIGTERM,
    SIGHUP and SIGQUIT are passed on to it and to what it has started.

    The exit code is that of the command, or 128 + N if signal N killed it. Of
    its own it has 123: the lease was lost, 124: the lock was not free within
    the timeout, 125: the server cannot be used, 126: the command cannot be
    run, 127: there is no such command, 2: wrong usage.
    """
    if limit is not None and not semaphore:
        fail("--limit is that of a semaphore: add --semaphore", code=WRONG_USAGE)
    _check(command[0])
    with Signals() as signals, connected(url, embedded, namespace, failed=UNABLE) as hf:
        held = _held(hf, name, lease=lease, semaphore=semaphore, limit=limit)
        try:
            place = held.acquire(timeout=timeout)
        except LockTimeout as error:
            fail(str(error), code=TIMED_OUT)
        except NotDefined as error:
            fail(f"{error}, with --limit N", code=UNABLE)
        signals.keep()
        try:
            ended = run_under(place, command, grace_s=grace, signals=signals)
        except OSError as error:
            _give_back(place)
            _not_run(command[0], error)
        _give_back(place, ended)
    raise typer.Exit(ended.code if ended.code >= 0 else SIGNALLED - ended.code)


def _check(program: str) -> None:
    """End what would wait for its turn in vain."""
    match can_run(program):
        case False:
            fail(f"there is no command {program!r}", code=NO_COMMAND)
        case None:
            fail(f"{program!r} cannot be run: it is no program", code=NOT_EXECUTABLE)


def _held(
    hf: Holdfast, name: str, *, lease: float, semaphore: bool, limit: int | None
) -> Lock | Semaphore:
    if semaphore:
        return hf.semaphore(name, limit=limit, lease=lease)
    return hf.lock(name, lease=lease)


def _not_run(program: str, error: OSError) -> NoReturn:
    code = NO_COMMAND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    fail(f"{program!r} cannot be run: {error.strerror}", code=code)


def _give_back(place: Lease, ended: Ended | None = None) -> None:
    """Release it; ends the command line if the command had no right to run as long as it did."""
    by_force = ended is not None and ended.by_force
    deed = "the command was ended, as " if by_force else ""
    try:
        place.release()
    except LeaseLost as error:
        fail(f"{deed}{_lost(error)}; check what it has written", code=LOST)
    except HoldfastError as error:
        warn(f"it is free only when its lease ends: {error}")
    if by_force:
        fail(f"{deed}nothing was heard of its lease in time", code=LOST)


def _lost(error: LeaseLost) -> str:
    """What is known of the loss; how the server was asked for it is for programs."""
    when = f" at {error.lost_at:%H:%M:%S} UTC" if error.lost_at else ""
    whose = f"; {error.taken_by} holds it now" if error.taken_by else ""
    return f"{error.what} was lost{when} under fence {error.fence}{whose}"
