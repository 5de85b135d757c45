"""Without an extra, what needs it says in one sentence which one to install."""

import json
import re
import sys
from pathlib import Path
from typing import Final

from holdfast.cli.app import COMMANDS
from project.installed import PROJECT, run

NEED_NONE: Final = {"all", "bench", "docs", "release", "test", "uvloop"}
"""Extras of contributors; and uvloop, which is used where it is installed."""

LIBRARY: Final = {
    "otel": ["holdfast.OpenTelemetry()"],
    "prometheus": ["holdfast.PrometheusMetrics()"],
    "sql": ["holdfast.SqlRows(object(), 'stock', key='id')", "holdfast.Outbox(object())"],
    "geo": [
        "holdfast.GeoTable.from_mmdb('places.mmdb')",
        "holdfast.GeoTable.from_geolite2_csv('blocks.csv', 'locations.csv')",
    ],
    "cron": ["holdfast.Cron('0 3 * * *')"],
    "server": [
        "holdfast.Holdfast.embedded()",
        "import_module('holdfast.server').EmbeddedServer.open(None)",
    ],
    "zstd": ["import_module('holdfast.core.compression').zstd()"],
    "web": ["import_module('holdfast.web')", "import_module('holdfast.web.server')"],
    "fastapi": ["import_module('holdfast.fastapi')"],
    "django": ["import_module('holdfast.django')", "import_module('holdfast.django.backend')"],
    "sentry": ["import_module('holdfast.sentry')"],
    "cli": [
        "import_module('holdfast.cli').main()",
        "import_module('runpy').run_module('holdfast', run_name='__main__')",
    ],
}
"""Extra → calls that need it, where no extra is installed."""

COMMAND_LINES: Final = {
    "cron": ["schedules add a reports digest --cron @daily --url redis://127.0.0.1:1"],
    "demo": ["demo", "demo --help", "demo traffic"],
    "dev": ["worker app:tasks --reload --url redis://127.0.0.1:1"],
    "geo": ["logs tally visits --from . --geo places.mmdb --url redis://127.0.0.1:1"],
    "prometheus": ["worker app:tasks --metrics 0 --url redis://127.0.0.1:1"],
    "server": ["server start data", "queues --embedded data", "top --embedded data"],
    "sql": ["outbox status --database sqlite:// --url redis://127.0.0.1:1"],
    "web": ["serve --url redis://127.0.0.1:1", "serve revoke jill --url redis://127.0.0.1:1"],
}
"""Extra → commands that need it, where only the extra `cli` is installed."""

TRY: Final = """
import os
from importlib import import_module
os.environ["PATH"] = ""
import holdfast
results = []
for code in sys.argv[1:]:
    try:
        eval(code)
    except (holdfast.HoldfastError, ModuleNotFoundError, SystemExit) as error:
        results.append(str(error))
    else:
        results.append("")
print(json.dumps(results))
"""

RUN: Final = """
import io, os, shlex
from contextlib import redirect_stderr, redirect_stdout
from holdfast.cli import main
os.environ["PATH"] = ""
results = []
for line in sys.argv[1:]:
    sys.argv[1:] = shlex.split(line)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            results.append((ended.code, out.getvalue(), err.getvalue()))
print(json.dumps(results))
"""


def test_every_extra_is_named_by_something() -> None:
    assert LIBRARY.keys() | COMMAND_LINES.keys() | NEED_NONE == set(
        PROJECT["optional-dependencies"]
    )


def test_a_call_names_the_extra_it_needs(tmp_path: Path) -> None:
    needed = [(extra, call) for extra, calls in LIBRARY.items() for call in calls]
    messages = json.loads(run("", TRY, *(call for _, call in needed), cwd=tmp_path))
    for (extra, call), message in zip(needed, messages, strict=True):
        if extra == "zstd" and sys.version_info >= (3, 14):
            assert message == "", call
        else:
            check(call, extra, message)


def test_a_command_names_the_extra_it_needs(tmp_path: Path) -> None:
    """The others print their help."""
    (tmp_path / "app.py").write_text("from holdfast import TaskRegistry\ntasks = TaskRegistry()\n")
    needed = [(extra, line) for extra, lines in COMMAND_LINES.items() for line in lines]
    helped = [f"{name} --help" for name in COMMANDS if name != "demo"]
    lines = [*helped, *(line for _, line in needed)]
    results = json.loads(run("cli", RUN, *lines, cwd=tmp_path))
    for line, (code, out, err) in zip(helped, results, strict=False):
        assert (code, err) == (0, ""), line
        assert "Usage" in out, line
    for (extra, line), (code, out, err) in zip(needed, results[len(helped) :], strict=True):
        assert (code, out) == (1, ""), (line, err)
        assert err.startswith("holdfast: "), err
        check(line, extra, err.removesuffix("\n"))


def check(use: str, extra: str, message: str) -> None:
    """Fail unless *message* is one sentence that names the extra."""
    assert f"install `holdfast[{extra}]` from where you got Holdfast" in message, (use, message)
    assert re.fullmatch(r"[^\n]{40,150}", message), (use, message)
