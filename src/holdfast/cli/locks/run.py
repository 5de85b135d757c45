"""`holdfast locks run NAME -- COMMAND`: run a command while a lock is held."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ... import HoldfastError, LeaseLost, LockTimeout, NotDefined, UnsupportedPlatform
from ..connection import Embedded, Namespace, Url, connected, fail
from ..exit_codes import (
    LOST,
    NO_COMMAND,
    NOT_EXECUTABLE,
    SIGNALLED,
    TIMED_OUT,
    UNABLE,
    WRONG_USAGE,
)
from ..options import argument, option
from ..output import warn
from .child import ChildExit, is_executable, run_under
from .show import IsSemaphore, Name
from .signals import SignalForwarder
from .wait import Timeout, finite

if TYPE_CHECKING:
    from ... import Holdfast, Lease, Lock, Semaphore


def run(
    name: Name,
    command: Annotated[
        list[str], argument("COMMAND", "The command and its arguments, after `--`.")
    ],
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    lease: Annotated[
        float,
        option(
            "SECONDS",
            "Seconds until the lock of a killed process is free; at least 1.",
            min=1.0,
            max=86_400.0,
            callback=finite,
        ),
    ] = 10.0,
    timeout: Timeout = None,
    grace: Annotated[
        float,
        option(
            "SECONDS",
            "How long the command may take to end when the lease is lost.",
            min=0.0,
            callback=finite,
        ),
    ] = 5.0,
    semaphore: IsSemaphore = False,
    limit: Annotated[
        int | None,
        option("N", "Number of permits; needed when the semaphore is new.", min=1, max=1_000_000),
    ] = None,
) -> None:
    """Acquire a lock, run a command while it is held, and release it.

    As in `holdfast locks run nightly --timeout 60 -- ./backup --all`. The
    command finds its fence in HOLDFAST_FENCE. The lease is renewed while it
    runs; when it is lost, the command is ended, by SIGTERM and after the grace
    by SIGKILL, also if this process was killed or stopped. SIGINT, SIGTERM,
    SIGHUP and SIGQUIT are passed on to it and to the processes it has started.

    The exit code is that of the command, or 128 + N if signal N killed it. Codes of
    this program are 123: the lease was lost, 124: the lock was not free within
    the timeout, 125: the server cannot be used, 126: the command cannot be
    run, 127: there is no such command, 2: wrong usage.
    """
    if sys.platform == "win32":
        fail(str(UnsupportedPlatform("`holdfast locks run`", "run it there")))
    if limit is not None and not semaphore:
        fail("--limit is that of a semaphore: add --semaphore", code=WRONG_USAGE)
    _check_executable(command[0])
    with SignalForwarder() as signals, connected(url, embedded, namespace, failed=UNABLE) as hf:
        lock = _lock(hf, name, lease=lease, semaphore=semaphore, limit=limit)
        try:
            held = lock.acquire(timeout=timeout)
        except LockTimeout as error:
            fail(str(error), code=TIMED_OUT)
        except NotDefined as error:
            fail(f"{error}, with --limit N", code=UNABLE)
        signals.keep_for_child()
        try:
            child = run_under(held, command, grace_s=grace, signals=signals)
        except OSError as error:
            _release(held)
            _not_run(command[0], error)
        _release(held, child)
    raise typer.Exit(child.code if child.code >= 0 else SIGNALLED - child.code)


def _check_executable(program: str) -> None:
    """End the command before it waits for the lock, if *program* cannot be run."""
    match is_executable(program):
        case False:
            fail(f"there is no command {program!r}", code=NO_COMMAND)
        case None:
            fail(f"{program!r} cannot be run: it is no program", code=NOT_EXECUTABLE)


def _lock(
    hf: Holdfast, name: str, *, lease: float, semaphore: bool, limit: int | None
) -> Lock | Semaphore:
    if semaphore:
        return hf.semaphore(name, limit=limit, lease=lease, on_conflict="error")
    return hf.lock(name, lease=lease)


def _not_run(program: str, error: OSError) -> NoReturn:
    code = NO_COMMAND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    fail(f"{program!r} cannot be run: {error.strerror}", code=code)


def _release(held: Lease, child: ChildExit | None = None) -> None:
    """Release the lock; fail if the command ran longer than the lease lasted."""
    by_force = child is not None and child.by_force
    prefix = "the command was ended, as " if by_force else ""
    try:
        held.release()
    except LeaseLost as error:
        fail(f"{prefix}{_loss(error)}; check what it has written", code=LOST)
    except HoldfastError as error:
        warn(f"it is free only when its lease ends: {error}")
    if by_force:
        fail(f"{prefix}its lease could not be renewed in time", code=LOST)


def _loss(error: LeaseLost) -> str:
    """Return a message with the time of the loss and the present holder, if they are known."""
    when = f" at {error.lost_at:%H:%M:%S} UTC" if error.lost_at else ""
    taker = f"; {error.taken_by} holds it now" if error.taken_by else ""
    return f"{error.what} was lost{when} under fence {error.fence}{taker}"
