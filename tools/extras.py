"""Install each extra alone into a fresh environment, and run the first example of its docs page.

    python tools/extras.py [--python /path/to/python3.13] [EXTRA ...]

The package is built once, as a source archive and from that as a wheel, as `pip` would do it. Each
environment gets the wheel with one extra. Needs PyPI, or what pip has in its cache.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from environments import PIP, ROOT, build, environment, run, unpack
from holdfast.server.binary import find_server

ZSTD: Final = """
import io
from holdfast import Holdfast
with Holdfast.embedded() as hf:
    feed = hf.file_feed("logs", consumers=["a"])
    feed.publish(io.BytesIO(b"line" * 1000), name="a", compress="zstd")
"""
UVLOOP: Final = """
from holdfast.core.concurrency.event_loop import new_loop
assert type(new_loop(daemon=False)).__module__.startswith("uvloop")
"""
MISSING: Final = """
from pathlib import Path
import holdfast
for use in (
    holdfast.OpenTelemetry,
    holdfast.PrometheusMetrics,
    lambda: holdfast.SqlRows(object(), "stock", key="id"),
    lambda: holdfast.GeoTable.from_mmdb(Path("places.mmdb")),
    lambda: __import__("holdfast.web"),
    lambda: __import__("holdfast.sentry"),
):
    try:
        use()
    except ModuleNotFoundError as error:
        assert "install `holdfast[" in str(error), error
    else:
        raise AssertionError(f"{use} needs no extra")
"""
DJANGO: Final = """
import sys
if sys.version_info >= (3, 12):  # Django 6 needs it
    from holdfast.django import HoldfastBackend
"""
LAZY: Final = """
import sys
import holdfast.rows.sql, holdfast.rows.commit_hook
assert "sqlalchemy" not in sys.modules
import sqlalchemy.ext.asyncio
"""


class Check(NamedTuple):
    """What is tried with some extras.

    Attributes:
        extras: separated by commas, as in brackets.
        beside: other packages that the page says to install.
        pages: the pages, each with the number of its example.
        code: what else is run.
        commands: of `holdfast`, each must end well.
    """

    extras: str
    beside: tuple[str, ...] = ()
    pages: tuple[tuple[str, int], ...] = ()
    code: str = ""
    commands: tuple[str, ...] = ()


CHECKS: Final = (
    Check("", pages=(("README.md", 0), ("docs/files.md", 0)), code=MISSING),
    Check("cli", pages=(("README.md", 0),), commands=("--help", "acl")),
    Check("demo", commands=("demo --help", "demo traffic --seconds 1", "demo mail --count 20")),
    Check("dev", code="import watchfiles", commands=("worker --help",)),
    Check("server", pages=(("README.md", 0), ("README.md", 1), ("README.md", 2))),
    Check("web", ("httpx",), pages=(("docs/gateway.md", 0), ("docs/dashboard.md", 0))),
    Check("fastapi", code="import holdfast.fastapi"),
    Check("sentry", code="from holdfast.sentry import SentryMiddleware; SentryMiddleware()"),
    Check("otel", ("opentelemetry-sdk",), pages=(("docs/telemetry.md", 1),)),
    Check("prometheus", pages=(("docs/telemetry.md", 3),)),
    Check("sql", pages=(("docs/rows.md", 0),), code=LAZY),
    Check("django", code=DJANGO),
    Check("geo", pages=(("docs/tallies.md", 0),), code="import polars, maxminddb"),
    Check("uvloop", pages=(("README.md", 0),), code=UVLOOP),
    Check("cron", pages=(("docs/schedules.md", 0),)),
    Check("zstd", pages=(("docs/files.md", 0),), code=ZSTD),
    Check(
        "cli,server", pages=(("README.md", 0), ("docs/tasks.md", 0)), commands=("doctor --help",)
    ),
    Check("cli,server,web", pages=(("README.md", 0),), commands=("serve --help",)),
    Check("all", commands=("demo --help", "serve --help")),
    Check("test", commands=("--help",), code="import pytest, hypothesis, playwright"),
    Check("bench", code="import cashews, dogpile.cache, psycopg, sqlalchemy.ext.asyncio"),
)


def example(page: str, number: int) -> str:
    """Return an example of a page, counted from 0."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)[number]


def built(folder: Path) -> Path:
    """Build the source archive, and from it the wheel."""
    build(ROOT, folder, "sdist")
    [archive] = folder.glob("*.tar.gz")
    build(unpack(archive, folder / "unpacked"), folder, "wheel")
    [wheel] = folder.glob("*.whl")
    return wheel


def tried(check: Check, python: str, wheel: Path, folder: Path, servers: Path) -> None:
    """Install the extras of *check*, and do what it says; raises CalledProcessError."""
    inside = environment(python, folder / "venv")
    wanted = f"{wheel}[{check.extras}]" if check.extras else str(wheel)
    run([inside, *PIP, wanted, *check.beside])
    has_server = "server" in check.extras or check.extras in {"all", "bench", "demo", "test"}
    path = "/usr/bin:/bin" if has_server else f"{servers}:/usr/bin:/bin"
    for number, (page, block) in enumerate(check.pages):
        place = folder / str(number)
        place.mkdir()
        run([inside, "-W", "error", "-c", example(page, block)], place, path)
    if check.code:
        run([inside, "-c", check.code], folder, path)
    for command in check.commands:
        run([str(folder / "venv/bin/holdfast"), *command.split()], folder, path)


def main() -> int:
    """Try all checks, or those of some extras."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", help="such as sql; by default all, each alone")
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory(prefix="holdfast-extras-") as temporary:
        folder = Path(temporary)
        wheel = built(folder)
        servers = folder / "servers"
        servers.mkdir()
        (servers / "valkey-server").symlink_to(find_server())
        for number, check in enumerate(CHECKS):
            if given.extras and check.extras not in given.extras:
                continue
            place = folder / f"check-{number}"
            place.mkdir()
            try:
                tried(check, given.python, wheel, place, servers)
            except subprocess.CalledProcessError as error:
                failed.append(check.extras)
                print(f"holdfast[{check.extras}] failed: {error.cmd[-1]}")
            else:
                print(f"holdfast[{check.extras}] ok", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
