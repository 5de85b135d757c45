"""`holdfast worker MODULE:REGISTRY` runs tasks."""

from __future__ import annotations

import importlib
import logging
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import TaskRegistry, Worker
from .connection import Embedded, Namespace, Url, connected, fail


def worker(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:REGISTRY", help="Where the tasks are, as in app.mail:tasks."
        ),
    ],
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    queue: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[=WEIGHT]", help="Serve this queue only. Repeatable."),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Tasks that run at once.")] = 50,
    lease: Annotated[
        float, typer.Option(min=1.0, help="Seconds until the tasks of a dead worker run elsewhere.")
    ] = 30.0,
    grace: Annotated[
        float, typer.Option(min=0.0, help="Seconds that running tasks are given at the end.")
    ] = 25.0,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when the queues hold nothing to be done.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log only failures.")] = False,
) -> None:
    """Run tasks until SIGTERM or Ctrl-C: what runs is finished or given back, nothing is lost."""
    level = logging.WARNING if quiet else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")
    tasks = _registry(target)
    with connected(url, embedded, namespace) as hf:
        try:
            runner = hf.worker(
                tasks, queues=_weights(queue), concurrency=concurrency, lease=lease, grace=grace
            )
        except ValueError as error:
            fail(str(error), code=2)
        _stop_on_signals(runner)
        runner.run(until_idle=until_idle)


def _registry(target: str) -> TaskRegistry:
    """The registry that MODULE:REGISTRY names, the current folder included."""
    module_name, _, attribute = target.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        fail(f"there is no module {module_name!r} here or on the path", code=2)
    for name in (attribute or "tasks").split("."):
        found = getattr(found, name, None)
    if not isinstance(found, TaskRegistry):
        fail(
            f"{target!r} is not a TaskRegistry; expected MODULE:REGISTRY, as in app.mail:tasks",
            code=2,
        )
    return found


def _weights(queues: list[str] | None) -> dict[str, int] | None:
    if not queues:
        return None
    weights = {}
    for queue in queues:
        name, _, weight = queue.rpartition("=")
        if name and weight.isdecimal():
            weights[name] = int(weight)
        else:
            weights[queue] = 1
    return weights


def _stop_on_signals(runner: Worker) -> None:
    """The first signal asks for the end, the second one ends at once."""

    def stop(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        runner.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
