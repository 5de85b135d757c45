"""Check the SQLAlchemy engine of a relay, and set its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .table import sqlalchemy

if TYPE_CHECKING:  # the asyncio code and the blocking code import them from here
    from sqlalchemy import Engine as Engine  # noqa: PLC0414
    from sqlalchemy.ext.asyncio import AsyncEngine as AsyncEngine  # noqa: PLC0414

LISTENING_DRIVERS: Final = ("psycopg", "asyncpg")
"""Drivers of PostgreSQL with which a program can wait for notifications."""

DATABASES: Final = ("postgresql", "mysql", "mariadb", "sqlite")


def checked_engine(engine: Any, wanted: str) -> Any:
    """Check *engine*. Return it with the option that its transactions read what others committed.

    Args:
        engine: an engine of SQLAlchemy.
        wanted: name of its class, `Engine` or `AsyncEngine`.

    Raises:
        TypeError: it is not an engine of this class.
        ValueError: it is an engine for another database.
    """
    sqlalchemy()
    if type(engine).__name__ != wanted:
        other = {"Engine": "Holdfast", "AsyncEngine": "AsyncHoldfast"}
        uses = f"{other[wanted]} uses an {wanted} of SQLAlchemy"
        raise TypeError(f"{uses}, got {type(engine).__name__}")
    name = engine.dialect.name
    if name not in DATABASES:
        raise ValueError(f"an outbox can be in {', '.join(DATABASES)}, not in {name}")
    if name == "sqlite":
        return engine
    # Repeatable reads of MySQL would lock the gaps in which applications write new rows.
    return engine.execution_options(isolation_level="READ COMMITTED")


def can_listen(engine: Any) -> bool:
    """Return whether the database of *engine* notifies a relay of commits."""
    return engine.dialect.name == "postgresql" and engine.dialect.driver in LISTENING_DRIVERS


def driver_connection(connection: Any) -> Any:
    """Return the driver's connection object of a blocking or async *connection* of SQLAlchemy."""
    blocking = getattr(connection, "sync_connection", connection)
    return blocking.connection.driver_connection


def database_errors() -> tuple[type[Exception], ...]:
    """Return what a statement raises while the database, or a connection to it, is away.

    SQLAlchemy leaves the errors of sockets that asyncpg raises as they are. `TimeoutError`: the
    application has all connections of the engine.
    """
    exceptions = sqlalchemy().exc
    return exceptions.DBAPIError, exceptions.TimeoutError, OSError


def first_line(error: Exception) -> str:
    """Return the first line of an error; the others quote the statement."""
    return str(getattr(error, "orig", None) or error).partition("\n")[0]
