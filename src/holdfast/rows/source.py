"""The source of rows, and the results of loading them. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from ..core.codec import Codec, encoded
from ..core.error_text import error_text, type_name
from ..errors import PayloadTooLarge
from .row_ids import RowId

_REASON_LIMIT: Final = 300


class RowSource(Protocol):
    """A source of rows: any object with this method, async or plain.

    Several threads may call it.
    """

    def load(self, ids: Sequence[RowId]) -> Any:
        """Return the rows with these *ids*, at most 500: a mapping of id → row (column → value).

        An id that is missing in it, or has None, is a row that does not exist. An exception instead
        of a row is the reason why this row cannot be loaded. An exception that is raised concerns
        all ids. After an OSError (such as ConnectionError or TimeoutError) no row is tried again
        now. After any other, the cache loads fewer rows at a time to find those that fail.
        """


class LoadResult(NamedTuple):
    """The result of loading a row, as `lua/commit.lua` takes it.

    Attributes:
        verb: `=` loaded, `-` absent, `!` failed, `<` not tried, `~` not scheduled any more.
        body: the encoded row, or the reason of the failure.
    """

    verb: str
    body: bytes = b""

    @property
    def why(self) -> str:
        """Return why it failed."""
        return self.body.decode(errors="replace")


NOT_TRIED = LoadResult("<")
NOT_SCHEDULED = LoadResult("~")


class LoadReport(NamedTuple):
    """The results of loading some rows.

    Attributes:
        results: result of each row.
        source_error: why the source could not be called any more; empty: all rows were tried.
        timed_out: whether the reason is that the time was over.
    """

    results: dict[str, LoadResult]
    source_error: str = ""
    timed_out: bool = False


def load_result(row: Any, codec: Codec, what: str) -> LoadResult:
    """Return the result for a *row* that a source returned."""
    if row is None:
        return LoadResult("-")
    if isinstance(row, BaseException):
        return failed_result(row)
    value = dict(row) if isinstance(row, Mapping) else row
    try:
        return LoadResult("=", encoded(codec, value, what))
    except (TypeError, PayloadTooLarge) as error:
        return failed_result(error)


def failed_result(error: BaseException) -> LoadResult:
    """Return the result for a row that could not be loaded because of *error*."""
    return LoadResult("!", reason_of(error).encode(errors="replace"))


def reason_of(error: BaseException) -> str:
    """Return type and message of *error* on one line, cut to `_REASON_LIMIT` characters."""
    name, text = type_name(type(error)), " ".join(error_text(error, _REASON_LIMIT).split())
    return f"{name}: {text}"[:_REASON_LIMIT] if text else name


class SourceUnavailable(OSError):
    """The source cannot load any row now."""
