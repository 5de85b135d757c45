"""`holdfast outbox`: relay the tasks of an outbox, and handle those that failed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from ..errors.one_line_logger import logger_of
from ..inspect.formats import counted, instant
from .address import without_password
from .commands import Commands
from .confirm import Yes, confirm
from .connection import fail, with_client
from .exit_codes import NOT_FOUND, WRONG_USAGE
from .log_output import log_to_stderr
from .options import argument, flag, option
from .output import AsJson, field_table, print_block, print_json, print_line, row_table, untrusted
from .stop_signals import call_on_stop_signal

if TYPE_CHECKING:
    from .. import Holdfast, OutboxRelay, OutboxRow

logger: Final = logger_of("holdfast.outbox")

Database = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="HOLDFAST_DATABASE",
        help="The database, as a URL of SQLAlchemy: postgresql+psycopg://user@host/shop.",
    ),
]
TableName = Annotated[str, option("NAME", "The table of the outbox.", "--table")]
TaskIds = Annotated[list[str], argument("TASK_ID...", "Ids of failed tasks.")]

DEFAULT_TABLE = "holdfast_outbox"

app: Final = Commands(
    name="outbox",
    help="Relay tasks from the outbox of a SQL database to their queues; handle those that failed.",
    no_args_is_help=True,
)


@app.command(example="holdfast outbox run --database postgresql+psycopg://shop@db/shop")
@with_client(create=True)
def run(
    hf: Holdfast,
    database: Database,
    table: TableName = DEFAULT_TABLE,
    until_idle: Annotated[bool, flag("End when no row waits.", "--until-idle")] = False,
    quiet: Annotated[bool, flag("Log only warnings and errors.", "--quiet", "-q")] = False,
) -> None:
    """Enqueue the tasks of an outbox until SIGTERM or Ctrl-C.

    Any number of these share the work. Each queue gets its tasks in the order
    of their rows.
    """
    log_to_stderr(logging.WARNING if quiet else logging.INFO)
    with _relay(hf, database, table) as relay:
        call_on_stop_signal(relay.stop)
        logger.info("relaying table %r of %s", table, without_password(database))
        try:
            relay.run(until_idle=until_idle)
        except ValueError as error:
            fail(str(error))
        logger.info("this process no longer relays table %r", table)


@app.command("ls", example="holdfast outbox ls --failed --database postgresql+psycopg://db/shop")
@with_client()
def list_rows(
    hf: Holdfast,
    database: Database,
    table: TableName = DEFAULT_TABLE,
    failed: Annotated[
        bool, flag("List rows that can never be enqueued, with the reason.", "--failed")
    ] = False,
    limit: Annotated[int, option("N", "Rows at most.", min=1, max=1000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List the rows that wait for a relay, the oldest first."""
    with _relay(hf, database, table) as relay:
        rows = relay.failed(limit=limit) if failed else relay.waiting(limit=limit)
    if as_json:
        for row in rows:
            print_json(row)
    elif rows:
        titles = ("task id", "queue", "task", "written", "error")
        print_block(row_table(titles, map(_cells, rows), left=titles))
    else:
        print_line(f"no {'failed' if failed else 'waiting'} rows in {table}")


@app.command(example="holdfast outbox status --database postgresql+psycopg://shop@db/shop")
@with_client()
def status(
    hf: Holdfast, database: Database, table: TableName = DEFAULT_TABLE, as_json: AsJson = False
) -> None:
    """Show how many rows wait and have failed, and when the oldest was written."""
    with _relay(hf, database, table) as relay:
        found = relay.status()
    if as_json:
        print_json({"table": table}, found)
        return
    oldest = "" if found.oldest_at is None else instant(found.oldest_at)
    fields = [("waiting", f"{found.waiting:,}"), ("oldest", oldest)]
    print_block(field_table([("table", table), *fields, ("failed", f"{found.failed:,}")]))


@app.command(example="holdfast outbox retry 5f0c… --database postgresql+psycopg://shop@db/shop")
@with_client()
def retry(
    hf: Holdfast, task_ids: TaskIds, database: Database, table: TableName = DEFAULT_TABLE
) -> None:
    """Let failed rows wait for a relay again."""
    with _relay(hf, database, table) as relay:
        _report(relay.retry(task_ids), task_ids, "waits again", "wait again")


@app.command(example="holdfast outbox discard 5f0c… --database postgresql+psycopg://shop@db/shop")
@with_client()
def discard(
    hf: Holdfast,
    task_ids: TaskIds,
    database: Database,
    table: TableName = DEFAULT_TABLE,
    yes: Yes = False,
) -> None:
    """Delete failed rows. Their tasks never run."""
    confirm(f"delete {counted(len(task_ids), 'failed row')}; their tasks never run", yes=yes)
    with _relay(hf, database, table) as relay:
        _report(relay.discard(task_ids), task_ids, "is deleted", "are deleted")


@contextmanager
def _relay(hf: Holdfast, database: str, table: str) -> Iterator[OutboxRelay]:
    """Yield the relay of an outbox. End the command if its database cannot be used."""
    try:
        from sqlalchemy import MetaData, create_engine
        from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
    except ModuleNotFoundError:
        fail("an outbox needs an extra: install `holdfast[sql]` from where you got Holdfast")
    from .. import Outbox

    shown = without_password(database)
    try:
        engine = create_engine(database)
        relay = hf.outbox_relay(Outbox(MetaData(), name=table), engine)
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        fail(f"{shown!r} is no URL of a database for an outbox: {error}", code=WRONG_USAGE)
    except ModuleNotFoundError as error:
        fail(f"the driver of {shown!r} is not installed: {error}", code=WRONG_USAGE)
    if engine.dialect.is_async:
        hint = "this command needs one for threads, as in postgresql+psycopg://"
        fail(f"the driver of {shown!r} is for asyncio; {hint}", code=WRONG_USAGE)
    try:
        yield relay
    except DBAPIError as error:
        why = " ".join(str(error.orig).split())  # on one line
        fail(f"cannot use table {table!r} of {shown}: {why}")
    finally:
        engine.dispose()


def _cells(row: OutboxRow) -> tuple[str | Text, ...]:
    texts = (row.task_id, row.queue, row.task)
    return (*map(untrusted, texts), instant(row.created_at), untrusted(row.error, "red"))


def _report(changed: int, task_ids: list[Any], one: str, many: str) -> None:
    """Print how many rows were changed. End the command with `NOT_FOUND` if some were not."""
    print_line(f"1 row {one}" if changed == 1 else f"{changed:,} rows {many}")
    if changed < len(set(task_ids)):
        missing = len(set(task_ids)) - changed
        fail(f"{missing:,} of the ids are of no failed row", code=NOT_FOUND)
