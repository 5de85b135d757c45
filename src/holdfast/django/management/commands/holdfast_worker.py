"""Define `manage.py holdfast_worker`, which runs the tasks of a backend."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.tasks import DEFAULT_TASK_BACKEND_ALIAS

from ...backend import HoldfastBackend, configured_backend
from ...options import ServerOptions
from ...worker_tasks import BACKEND_VARIABLE

if TYPE_CHECKING:
    from ...typed_bases import BaseCommand
else:
    from django.core.management.base import BaseCommand


class Option(NamedTuple):
    """Defines an option that is passed on to `holdfast worker`.

    Attributes:
        name: the name of the option, without the dashes.
        metavar: the name of its value in the help; empty for a flag.
        help: the text that describes the option in the help.
    """

    name: str
    metavar: str
    help: str


OPTIONS: Final = (
    Option("concurrency", "N", "Tasks that run at once; 50 by default."),
    Option("lease", "SECONDS", "Time after which tasks of a dead worker run elsewhere."),
    Option("grace", "SECONDS", "How long running tasks may take to finish at shutdown."),
    Option(
        "unknown-timeout", "SECONDS", "How long a task that this code lacks waits for a worker."
    ),
    Option("processes", "N", "Worker processes; a supervisor keeps them running."),
    Option("max-tasks", "N", "Replace a process after about so many tasks."),
    Option("max-rss", "MIB", "Replace a process that takes more memory than that."),
    Option("health", "HOST:PORT", "Serve /livez and /readyz there, for probes."),
    Option("blocked-after", "SECONDS", "/livez fails when a task blocks the loop for so long."),
    Option("metrics", "HOST:PORT", "Serve /metrics there, for Prometheus."),
    Option("log-config", "FILE", "Configure logging by a .json or .toml file (dictConfig)."),
    Option("log-format", "FORMAT", "text, or json: one JSON object per line."),
    Option("until-idle", "", "End when the queues hold nothing to do."),
    Option("reload", "", "Start again when a Python file below this folder is saved."),
    Option("quiet", "", "Log only warnings and errors."),
)


class Command(BaseCommand):
    """Runs `holdfast worker` in this process, with the server and the tasks of a backend."""

    help = "Run the tasks of a HoldfastBackend until SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options of `holdfast worker`."""
        parser.add_argument(
            "--backend",
            metavar="ALIAS",
            default=DEFAULT_TASK_BACKEND_ALIAS,
            help="The backend in the setting TASKS.",
        )
        parser.add_argument(
            "--queue",
            metavar="NAME[=WEIGHT]",
            action="append",
            help="Serve this queue only, by weight if given. Repeatable. By default the QUEUES of "
            "the backend.",
        )
        for option in OPTIONS:
            if option.metavar:
                parser.add_argument(f"--{option.name}", metavar=option.metavar, help=option.help)
            else:
                parser.add_argument(f"--{option.name}", action="store_true", help=option.help)

    def handle(self, *_: Any, **options: Any) -> NoReturn:
        """Replace this process by the worker, so that signals and exit codes are the worker's."""
        if find_spec("typer") is None:
            raise CommandError(
                "the worker needs an extra: install `holdfast[cli]` from where you got Holdfast"
            )
        try:
            backend = configured_backend(options["backend"])
            backend.check_server()
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        command = [sys.executable, "-m", "holdfast", "worker", "holdfast.django.worker_tasks:tasks"]
        self.stdout.flush()
        os.execve(  # noqa: S606 (there is no shell)
            sys.executable, [*command, *_arguments(backend, options)], _environment(backend)
        )


def _arguments(backend: HoldfastBackend, options: dict[str, Any]) -> list[str]:
    """Return the arguments of `holdfast worker`."""
    given = [f"--queue={queue}" for queue in options["queue"] or sorted(backend.queues)]
    for option in OPTIONS:
        value = options[option.name.replace("-", "_")]
        if option.metavar and value is not None:
            given.append(f"--{option.name}={value}")
        elif not option.metavar and value:
            given.append(f"--{option.name}")
    return given


def _environment(backend: HoldfastBackend) -> dict[str, str]:
    """Return the environment variables of the worker.

    The URL of the server is one of them, because it may hold a password, which other users of the
    machine could read in the arguments of a process.
    """
    server: ServerOptions = backend.settings.server
    found = {**os.environ, BACKEND_VARIABLE: backend.alias, "HOLDFAST_NAMESPACE": server.namespace}
    for name in ("HOLDFAST_URL", "HOLDFAST_EMBEDDED"):
        found.pop(name, None)
    if server.url is not None:
        found["HOLDFAST_URL"] = server.url
    else:
        found["HOLDFAST_EMBEDDED"] = str(server.embedded)
    found["PYTHONPATH"] = os.pathsep.join(_own_paths())
    return found


def _own_paths() -> list[str]:
    """Return the folders that this process searches for modules, besides those of Python."""
    # A project may be inside of the environment: only what Python itself adds is left out.
    own = [Path(path or ".").resolve() for path in sys.path]
    libraries = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    libraries += [*site.getsitepackages(), site.getusersitepackages()]
    python = [Path(path).resolve() for path in libraries]
    paths = [path for path in own if path.exists() and not any(map(path.is_relative_to, python))]
    return [str(path) for path in dict.fromkeys(paths)]
