"""The clock of the database, as an SQL expression. It is imported on first use of an outbox."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class now_ms(FunctionElement[int]):  # noqa: N801 (written like the functions of SQL)
    """The time of the database when the statement runs, in ms since 1970."""

    type: BigInteger = BigInteger()
    inherit_cache: bool = True


@compiles(now_ms, "postgresql")
def _postgresql(*_: Any, **__: Any) -> str:
    # `now()` is when the transaction began, and a task must not run before its delay has passed.
    return "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)"


@compiles(now_ms, "mysql")
@compiles(now_ms, "mariadb")
def _mysql(*_: Any, **__: Any) -> str:
    return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000"


@compiles(now_ms, "sqlite")
def _sqlite(*_: Any, **__: Any) -> str:
    return "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
