"""Invalidate rows when sessions of SQLAlchemy commit changes to them (extra `sql`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..errors import HoldfastError
from ..errors.one_line_logger import logger_of
from .row_ids import RowId
from .sql import SqlRows, is_one_of

logger: Final = logger_of("holdfast.rows")


class CommitHook:
    """Invalidate the rows that sessions commit. A rollback invalidates nothing.

    Made by `invalidate_on_commit` of a cache. The hook finds the objects that a session adds,
    changes or deletes. It cannot find the rows that a statement writes (`update(Stock)…`, or SQL):
    name these rows with `touch`.

    If the invalidation fails, the commit is still valid. The failure is logged, and readers get old
    copies until they expire.
    """

    def __init__(self, invalidate: Callable[..., Any], source: SqlRows, sessions: Any) -> None:
        self._invalidate = invalidate
        self._source = source
        self._info_key = f"holdfast rows {id(self)}"
        self._target = _target(sessions, is_async=inspect.iscoroutinefunction(invalidate))
        self._listeners: dict[str, Callable[..., Any]] = {
            "after_flush": self._after_flush,
            "after_commit": self._after_commit,
            "after_transaction_end": self._after_end,
        }
        from sqlalchemy import event

        for name, listener in self._listeners.items():
            event.listen(self._target, name, listener)

    def touch(self, session: Any, *row_ids: RowId) -> None:
        """Invalidate these rows when *session* commits."""
        session = getattr(session, "sync_session", session)
        session.info.setdefault(self._info_key, {}).update(dict.fromkeys(row_ids))

    def remove(self) -> None:
        """Remove the hook from the sessions."""
        from sqlalchemy import event

        for name, listener in self._listeners.items():
            event.remove(self._target, name, listener)

    def _after_flush(self, session: Any, _: Any) -> None:
        changed = [each for each in session.dirty if session.is_modified(each)]
        for instance in (*session.new, *changed, *session.deleted):
            self.touch(session, *self._ids(instance))

    def _ids(self, instance: Any) -> Iterator[RowId]:
        """Yield the id of *instance*, and its former id if it has changed. Yield nothing for an
        object of another table."""
        from sqlalchemy import inspect as inspected

        state = inspected(instance)
        if self._source.table not in state.mapper.tables:
            return
        attributes = [
            state.attrs[state.mapper.get_property_by_column(column).key]
            for column in self._source.key
        ]
        yield self._source.id_of([attribute.value for attribute in attributes])
        before = [attribute.history.deleted for attribute in attributes]
        if any(before):
            pairs = zip(before, attributes, strict=True)
            yield self._source.id_of([old[0] if old else new.value for old, new in pairs])

    def _after_commit(self, session: Any) -> None:
        if session.in_nested_transaction():  # a savepoint, which is not committed yet
            return
        row_ids = session.info.pop(self._info_key, None)
        if not row_ids:
            return
        try:
            done = self._invalidate(*row_ids)
            if inspect.isawaitable(done):
                from sqlalchemy.util import await_only

                await_only(done)
        except HoldfastError as error:
            shown = ", ".join(map(repr, list(row_ids)[:5]))
            logger.error(  # noqa: TRY400 (the message of the error is enough)
                "%s of %r changed, such as %s, and could not be invalidated: %s",
                "1 row" if len(row_ids) == 1 else f"{len(row_ids)} rows",
                self._source,
                shown,
                error,
            )

    def _after_end(self, session: Any, transaction: Any) -> None:
        if transaction.parent is None:  # a commit has removed the ids before, so this is a rollback
            session.info.pop(self._info_key, None)


def _target(sessions: Any, *, is_async: bool) -> Any:
    """Return the object that emits the events of *sessions*. For async sessions these are their
    blocking sessions."""
    from sqlalchemy.orm import sessionmaker

    if is_one_of(sessions, "async_sessionmaker"):
        if "sync_session_class" not in sessions.kw:
            sessions.configure(sync_session_class=sessionmaker())
        return sessions.kw["sync_session_class"]
    if is_one_of(sessions, "AsyncSession"):
        return sessions.sync_session
    if is_async:
        raise TypeError(
            "a cache of AsyncHoldfast needs an async_sessionmaker or an AsyncSession, "
            f"got {type(sessions).__name__}"
        )
    return sessions
