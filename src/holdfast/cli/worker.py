"""`holdfast worker MODULE:REGISTRY`: run tasks."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from ..errors.records import logger_of
from .address import server_name
from .commands import Commands
from .connection import Embedded, Namespace, Url, argument_errors, connected, fail
from .exit_codes import WRONG_USAGE
from .import_target import TargetKind, import_target
from .log_output import log_to_stderr
from .options import argument, flag, option
from .output import warn
from .resources import similar
from .worker_metrics import metrics_served

if TYPE_CHECKING:
    from .. import TaskRegistry

logger = logger_of("holdfast.worker")

app = Commands()


@app.command()
def worker(
    target: Annotated[
        str, argument("MODULE:REGISTRY", "Where the tasks are, as in app.mail:tasks.")
    ],
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    queue: Annotated[
        list[str] | None, option("NAME[=WEIGHT]", "Serve this queue only. Repeatable.")
    ] = None,
    concurrency: Annotated[int, option("N", "Tasks that run at once.", min=1)] = 50,
    lease: Annotated[
        float,
        option(
            "SECONDS", "How soon the tasks of a dead worker run elsewhere; at least 1.", min=1.0
        ),
    ] = 30.0,
    grace: Annotated[
        float, option("SECONDS", "How long running tasks may take to finish at shutdown.", min=0.0)
    ] = 25.0,
    unknown_timeout: Annotated[
        float,
        option(
            "SECONDS",
            "How long a task that is not in this registry waits for a worker that has it.",
            min=0.0,
        ),
    ] = 3600.0,
    until_idle: Annotated[
        bool, flag("End when the queues hold nothing to do.", "--until-idle")
    ] = False,
    metrics: Annotated[
        int | None,
        option(
            "PORT",
            "Serve metrics for Prometheus on this port of the loopback; 0 takes a free one.",
            min=0,
            max=65535,
        ),
    ] = None,
    quiet: Annotated[bool, flag("Log only failures.", "--quiet", "-q")] = False,
) -> None:
    """Run tasks until SIGTERM or Ctrl-C; running tasks finish or go back, nothing is lost."""
    log_to_stderr(logging.WARNING if quiet else logging.INFO)
    tasks = _registry(target)
    weights = _weights(queue)
    _check_queues(weights or (), tasks)
    with (
        metrics_served(metrics) as telemetry,
        connected(url, embedded, namespace, telemetry=telemetry) as hf,
    ):
        with argument_errors():
            runner = hf.worker(
                tasks,
                queues=weights,
                concurrency=concurrency,
                lease=lease,
                grace=grace,
                unknown_timeout=unknown_timeout,
            )
        shares = weights or dict.fromkeys(tasks.queues(), 1)
        logger.info(
            "worker %s: %s, namespace %r, queues %s, concurrency %d",
            runner.name,
            server_name(url, embedded),
            hf.namespace,
            ", ".join(f"{name}={weight}" for name, weight in shares.items()),
            concurrency,
        )
        runner.run(until_idle=until_idle)


def _registry(target: str) -> TaskRegistry:
    from .. import TaskRegistry

    kind = TargetKind((TaskRegistry,), "TaskRegistry", "REGISTRY", "tasks", "app.mail:tasks")
    tasks: TaskRegistry = import_target(target, kind)
    return tasks


def _weights(queues: list[str] | None) -> dict[str, int] | None:
    if not queues:
        return None
    weights = {}
    for queue in queues:
        name, given, weight = queue.rpartition("=")
        if not given:
            weights[queue] = 1
        elif weight.isdecimal():
            weights[name] = int(weight)
        else:
            problem = f"the weight in {queue!r} is no whole number"
            fail(f"{problem}; write NAME=WEIGHT, such as email=3", code=WRONG_USAGE)
    return weights


def _check_queues(queues: Iterable[str], tasks: TaskRegistry) -> None:
    """Warn of queues that no task names: a typing error, or queues with other producers."""
    for queue in queues:
        if queue not in tasks.queues():
            named = ", ".join(map(repr, tasks.queues())) or "none"
            hint = similar(queue, tasks.queues()) or f"; they name {named}"
            warn(f"no task of this registry names queue {queue!r}{hint}")
