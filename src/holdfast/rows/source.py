"""Define the source of rows, and the results of loading rows. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from ..core.codec import Codec, encoded
from ..core.error_text import error_text, type_name
from ..errors import PayloadTooLarge
from .row_ids import RowId

_REASON_LIMIT: Final = 300


class RowSource(Protocol):
    """Describe a source of rows: any object with a method `load`, which may be async.

    Several threads may call the method at the same time.
    """

    @property
    def load(self) -> Callable[[Sequence[RowId]], Any]:
        """Return the function `load(ids)`; it returns a mapping: id → row (column → value).

        - *ids* are at most 500.
        - If an id is missing or has the value None, the row does not exist.
        - If the value is an exception, this row cannot be loaded.
        - If the function raises an OSError (such as ConnectionError or TimeoutError), the source
          counts as unavailable.
        - If it raises another exception, the cache calls it again with fewer ids, to find the rows
          that fail.
        """


class LoadResult(NamedTuple):
    """Hold the result of loading a row, in the form that `lua/commit.lua` takes.

    Attributes:
        verb: `=` loaded, `-` absent, `!` failed, `<` not tried, `~` not scheduled any more.
        body: the encoded row for `=`, the reason for `!`, otherwise empty.
    """

    verb: str
    body: bytes = b""

    @property
    def why(self) -> str:
        """Return the body as text: why the load failed."""
        return self.body.decode(errors="replace")


NOT_TRIED = LoadResult("<")
NOT_SCHEDULED = LoadResult("~")


class LoadReport(NamedTuple):
    """Hold the results of loading some rows.

    Attributes:
        results: row → result.
        source_error: why the source counts as unavailable; empty if it does not.
        timed_out: whether `source_error` is set because the load took too long.
    """

    results: dict[str, LoadResult]
    source_error: str = ""
    timed_out: bool = False


def load_result(row: Any, codec: Codec, what: str) -> LoadResult:
    """Return the result for *row*, a value that a source returned; *what* names it in errors."""
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
    """Raised when the source cannot load any row now."""
