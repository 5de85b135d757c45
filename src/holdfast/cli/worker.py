"""`holdfast worker MODULE:REGISTRY`: run tasks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from ..errors.one_line_logger import logger_of
from .address import server_name
from .commands import Commands
from .connection import Embedded, Namespace, Url, argument_errors, connected, fail
from .exit_codes import REFUSED, WRONG_USAGE
from .import_target import TargetKind, import_target
from .options import argument, flag, option
from .output import warn
from .pages import ListenAddress
from .reloader import Reloader, obey_reloader, reloaded_link
from .resources import similar
from .supervisor.link import SupervisorLink
from .supervisor.process_supervisor import ProcessSupervisor
from .supervisor.replacement_limits import ReplacementLimits
from .supervisor.role import ProcessRole
from .worker_logging import LogFormat, check_log_options, configure_logging
from .worker_pages import WorkerPages

if TYPE_CHECKING:
    from .. import TaskRegistry

logger: Final = logger_of("holdfast.worker")

app: Final = Commands()


@app.command(example="holdfast worker app.mail:tasks --queue email --queue reports=3")
def worker(
    target: Annotated[
        str,
        argument("MODULE:REGISTRY", "Module and registry of the tasks, such as app.mail:tasks."),
    ],
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    queue: Annotated[
        list[str] | None,
        option("NAME[=WEIGHT]", "Serve this queue only, by weight if given. Repeatable."),
    ] = None,
    concurrency: Annotated[int, option("N", "Tasks that run at once.", min=1)] = 50,
    lease: Annotated[
        float,
        option(
            "SECONDS", "Time after which tasks of a dead worker run elsewhere; at least 1.", min=1.0
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
    processes: Annotated[
        int, option("N", "Worker processes; a supervisor keeps them running.", min=1, max=1000)
    ] = 1,
    max_tasks: Annotated[
        int | None,
        option("N", "Replace a process after about so many tasks.", min=1),
    ] = None,
    max_rss: Annotated[
        int | None,
        option("MIB", "Replace a process that takes more memory than that.", min=1),
    ] = None,
    cpu_processes: Annotated[
        int | None,
        option(
            "N",
            "Child processes of each process for tasks with cpu=True; default one for each CPU.",
            min=1,
            max=256,
        ),
    ] = None,
    health: Annotated[
        str | None,
        option("HOST:PORT", "Serve /livez and /readyz there, for probes."),
    ] = None,
    blocked_after: Annotated[
        float,
        option("SECONDS", "/livez fails when a task blocks the event loop for so long.", min=1.0),
    ] = 30.0,
    metrics: Annotated[
        str | None,
        option(
            "HOST:PORT",
            "Serve /metrics there, for Prometheus. PORT alone is on the loopback; 0: a free one.",
        ),
    ] = None,
    log_config: Annotated[
        Path | None, option("FILE", "Configure logging by a .json or .toml file (dictConfig).")
    ] = None,
    log_format: Annotated[
        LogFormat | None, option("FORMAT", "text, or json: one JSON object per line.")
    ] = None,
    reload: Annotated[
        bool, flag("Start again when a Python file below this folder is saved.", "--reload")
    ] = False,
    quiet: Annotated[bool, flag("Log only warnings and errors.", "--quiet", "-q")] = False,
) -> None:
    """Run tasks until SIGTERM or Ctrl-C; running tasks finish or go back, nothing is lost.

    With `--processes`, `--max-tasks` or `--max-rss` a supervisor runs the
    processes: it starts a dead one again, replaces one that has reached a
    limit, and drains all of them at SIGTERM or Ctrl-C. If the supervisor is
    killed, they drain by themselves.

    The exit code is 0 after an ordinary end, and 4 if the server rejects the
    worker at its start: wrong credentials, a missing permission, or a TLS
    error. The worker waits for a server that it cannot reach. The exit code of a supervisor is
    1 if a process had to be killed, and that of the first process if it could
    not start.
    """
    check_log_options(log_config, log_format, quiet=quiet)
    limits = ReplacementLimits(max_tasks, None if max_rss is None else max_rss << 20)
    role, reloader = ProcessRole.taken(), reloaded_link()
    group = role is None and (processes > 1 or bool(limits))
    if reload and reloader is None:
        configure_logging(log_config, log_format, quiet=quiet)
        _reload(grace, contradicted=until_idle or group)
    pages = WorkerPages(None if role else health, None if group else metrics, blocked_after)
    if group:
        configure_logging(log_config, log_format, quiet=quiet)
        _supervise(processes, grace, until_idle=until_idle, metrics=metrics, pages=pages)
    link = None if role is None else SupervisorLink(role, grace)
    tasks = _registry(target)
    configure_logging(log_config, log_format, quiet=quiet)
    weights = _weights(queue)
    _check_queues(weights or (), tasks)
    with (
        pages.served(),
        connected(url, embedded, namespace, telemetry=pages.telemetry) as hf,
    ):
        with argument_errors():
            runner = hf.worker(
                tasks,
                queues=weights,
                concurrency=concurrency,
                lease=lease,
                grace=grace,
                unknown_timeout=unknown_timeout,
                cpu_processes=cpu_processes,
                group="" if role is None else role.group,
            )
        if reloader is not None:
            obey_reloader(reloader, runner.stop)
        pages.report = runner.health
        shares = weights or dict.fromkeys(tasks.queues(), 1)
        logger.info(
            "worker %s: %s, namespace %r, queues %s, concurrency %d",
            runner.name,
            server_name(url, embedded),
            hf.namespace,
            ", ".join(f"{name}={weight}" for name, weight in shares.items()),
            concurrency,
        )
        if link is not None:
            link.serve(runner)
            limits.watch(runner, link)
        with _start_errors():
            runner.run(until_idle=until_idle)


@contextmanager
def _start_errors() -> Iterator[None]:
    """End the command with a sentence if the server rejects the worker at its start."""
    from .. import WorkerCannotStart

    try:
        yield
    except WorkerCannotStart as error:
        fail(str(error), code=REFUSED)


def _reload(grace: float, *, contradicted: bool) -> NoReturn:
    """Run worker processes with the same command line, each with the code as it was saved."""
    if contradicted:
        others = "--until-idle, --processes, --max-tasks and --max-rss"
        fail(
            f"--reload runs one process until it is stopped: give it without {others}",
            code=WRONG_USAGE,
        )
    raise typer.Exit(Reloader(Path.cwd(), grace).run())


def _supervise(
    processes: int, grace: float, *, until_idle: bool, metrics: str | None, pages: WorkerPages
) -> NoReturn:
    """Run worker processes with the same command line, and exit as the supervisor says."""
    if metrics is not None and ListenAddress.parsed(metrics, "--metrics").port:
        problem = "the processes of --processes, --max-tasks or --max-rss cannot share a port"
        fail(f"{problem}: --metrics 0 gives each one of its own", code=WRONG_USAGE)
    argv = [sys.executable, "-m", "holdfast", *sys.argv[1:]]
    supervisor = ProcessSupervisor(argv, processes, grace_s=grace, until_idle=until_idle)
    pages.report = supervisor.health
    with pages.served():
        raise typer.Exit(supervisor.run())


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
    """Warn of queues that no task names. The name may be mistyped, unless other programs use it."""
    for queue in queues:
        if queue not in tasks.queues():
            named = ", ".join(map(repr, tasks.queues())) or "none"
            hint = similar(queue, tasks.queues()) or f"; they name {named}"
            warn(f"no task of this registry names queue {queue!r}{hint}")
