"""Define an expression of Django that reads the clock of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.db.models import BigIntegerField

if TYPE_CHECKING:
    from .typed_bases import Func
else:
    from django.db.models import Func

SUPPORTED: Final = ("postgresql", "sqlite")
"""The databases that an outbox of Django can be in, as Django names them."""


class NowMs(Func):
    """Evaluates to the time of the database when the statement runs, in ms since 1970."""

    arity = 0
    output_field: Any = BigIntegerField()

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        """Return the SQL for PostgreSQL; `now()` would be when the transaction began."""
        template = "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)"
        return self.as_sql(compiler, connection, template=template)

    def as_sqlite(self, compiler: Any, connection: Any) -> Any:
        """Return the SQL for SQLite."""
        template = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
        return self.as_sql(compiler, connection, template=template)
