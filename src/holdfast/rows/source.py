"""Where rows come from, and what became of loading them: frozen, and no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from ..core.codec import Codec, encoded
from ..core.error_text import error_text, type_name
from ..errors import PayloadTooLarge
from .row_ids import RowId

_TOLD: Final = 300


class RowSource(Protocol):
    """What a row cache loads from: any object with this method, async or plain.

    It is called from several threads.
    """

    def load(self, ids: Sequence[RowId]) -> Any:
        """The rows with these *ids*, at most 500: a mapping of id → row (column → value).

        An id that is not in it, or has None, is a row that does not exist. An exception instead of
        a row says why this one cannot be had. What is raised concerns all: an OSError (such as
        ConnectionError or TimeoutError) that nothing can be loaded now; of anything else it is
        found out which rows are to blame.
        """


class LoadResult(NamedTuple):
    """What became of loading a row, as `lua/commit.lua` takes it.

    Attributes:
        verb: `=` loaded, `-` not there, `!` failed, `<` not tried, `~` not scheduled any more.
        body: the encoded row, or why it failed.
    """

    verb: str
    body: bytes = b""

    @property
    def why(self) -> str:
        """Why it failed."""
        return self.body.decode(errors="replace")


NOT_TRIED = LoadResult("<")
NOT_SCHEDULED = LoadResult("~")


class LoadReport(NamedTuple):
    """What became of loading some rows.

    Attributes:
        verdicts: by row.
        trouble: why nothing could be loaded any more; empty: all was tried.
        late: that is because the time was over.
    """

    results: dict[str, LoadResult]
    source_error: str = ""
    timed_out: bool = False


def load_result(row: Any, codec: Codec, what: str) -> LoadResult:
    """What is stored of a *row* that a source returned."""
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
    """That a row failed by *error*."""
    return LoadResult("!", told(error).encode(errors="replace"))


def told(error: BaseException) -> str:
    """An *error* in one line of at most `_TOLD` characters, whatever its code does."""
    name, text = type_name(type(error)), " ".join(error_text(error, _TOLD).split())
    return f"{name}: {text}"[:_TOLD] if text else name


class SourceUnavailable(OSError):
    """The source can load nothing now, whichever row is asked for."""
