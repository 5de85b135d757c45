"""`holdfast outbox run`, `ls`, `status`, `retry` and `discard`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cli.filled_queue import HOSTILE, Run, rows
from holdfast import Holdfast, Outbox, TaskRegistry, Unique

tasks = TaskRegistry()


@tasks.task(queue="email", unique=Unique(when="raise"))
def welcome(user: str) -> None: ...


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'shop.db'}"


@pytest.fixture
def write(database: str) -> Callable[..., list[str]]:
    """Return a function that writes calls into an outbox, and returns the ids of their tasks."""
    metadata = sa.MetaData()
    outbox, engine = Outbox(metadata), sa.create_engine(database)
    metadata.create_all(engine)

    def written(*calls: Any) -> list[str]:
        with engine.begin() as connection:
            ids = outbox.enqueue_many(connection, calls)
        engine.dispose()
        return ids

    return written


def test_rows_are_relayed_and_listed(
    database: str, write: Callable[..., list[str]], run: Run, hf: Holdfast
) -> None:
    where = ("--database", database)
    first, second = write(welcome.call(HOSTILE), welcome.call(HOSTILE))
    assert "waiting  2" in run("outbox", "status", *where).stdout
    [row, _] = rows(run("outbox", "ls", *where, "--json"))
    assert (row["task_id"], row["queue"], row["task"], row["error"]) == (
        first,
        "email",
        "welcome",
        "",
    )
    assert run("outbox", "run", *where, "--until-idle").exit_code == 0
    assert [task.task_id for task in hf.queue("email").tasks()] == [first]
    assert run("outbox", "ls", *where).stdout == "no waiting rows in holdfast_outbox\n"
    listed = run("outbox", "ls", "--failed", *where).stdout
    assert second in listed
    assert "\x1b" not in listed
    [status] = rows(run("outbox", "status", *where, "--json"))
    assert (status["waiting"], status["failed"]) == (0, 1)

    assert run("outbox", "retry", second, *where).stdout == "1 row waits again\n"
    run("outbox", "run", *where, "--until-idle")
    assert run("outbox", "discard", second, "--yes", *where).stdout == "1 row is deleted\n"
    missing = run("outbox", "discard", second, "--yes", *where)
    assert missing.exit_code == 3
    assert "1 of the ids are of no failed row" in missing.stderr


def test_wrong_databases(run: Run, tmp_path: Path) -> None:
    for url, message in {
        "nonsense": "is no URL of a database",
        "oracle://u:secret@host/db": "oracle",
        f"sqlite:///{tmp_path / 'empty.db'}": "cannot use table 'holdfast_outbox'",
    }.items():
        failed = run("outbox", "status", "--database", url)
        assert failed.exit_code != 0
        assert message in failed.stderr
        assert "secret" not in failed.stderr
    started = run("outbox", "run", "--database", f"sqlite:///{tmp_path / 'empty.db'}")
    assert started.exit_code == 1
    assert "create it, such as by metadata.create_all(engine)" in started.stderr


@pytest.mark.parametrize(
    "command", ["status", "ls", "run --until-idle", "retry x", "discard x --yes"]
)
def test_an_async_driver_is_wrong_usage(tmp_path: Path, run: Run, command: str) -> None:
    """Name the kind of driver that works: applications often have a URL for asyncio."""
    url = f"sqlite+aiosqlite:///{tmp_path / 'shop.db'}"
    result = run("outbox", *command.split(), "--database", url)
    assert (result.exit_code, "is for asyncio" in result.stderr) == (2, True)


def test_an_error_of_the_database_is_one_line(run: Run) -> None:
    """Some drivers put several lines into an error."""
    result = run("outbox", "status", "--database", "postgresql+psycopg://shop:x@127.0.0.1:1/shop")
    assert (result.exit_code, result.stderr.count("\n"), "\\t" in result.stderr) == (1, 1, False)
