"""`holdfast rows`: keep the rows of a cache fresh, and list row caches."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

from rich.text import Text

from .. import DecodeError, HoldfastError
from ..errors.one_line_logger import logger_of
from .connection import fail, with_client
from .event_loop import run_async
from .exit_codes import WRONG_USAGE
from .import_target import TargetKind, import_target
from .log_output import log_to_stderr
from .options import argument, flag
from .output import AsJson, field_table, print_block, print_json, untrusted
from .resources import Resource, Row, group, list_command, show_resource
from .stop_signals import call_on_stop_signal

if TYPE_CHECKING:
    from .. import AsyncRowCache, Holdfast, RowCache, RowCacheStatus

logger: Final = logger_of("holdfast.rows")

Name = Annotated[str, argument("NAME", "The row cache.")]
RowId = Annotated[
    str | None, argument("[ID]", "One of its rows: 42, a text, or as JSON: '\"42\"', '[\"eu\",7]'.")
]


def _read(hf: Holdfast, name: str) -> RowCacheStatus | None:
    status = hf.row_cache(name).status()
    return status if name in hf.row_caches() else None


def _source(status: RowCacheStatus) -> Text:
    return untrusted(status.source_error, "red") if status.source_error else Text("ok")


def _rows(status: RowCacheStatus) -> Iterator[Row]:
    yield "scheduled", f"{status.scheduled:,}"
    yield "due", f"{status.due:,}, the latest by {status.lag:,.1f} s"
    yield "loading", f"{status.loading:,}"
    yield "failing", f"{status.failing:,}"
    yield "source", _source(status)


ROW_CACHES: Final = Resource["RowCacheStatus"](
    noun="row cache",
    key="cache",
    names=lambda hf: hf.row_caches(),
    read=_read,
    every=lambda hf: {name: hf.row_cache(name).status() for name in hf.row_caches()},
    columns={
        "scheduled": lambda status: f"{status.scheduled:,}",
        "due": lambda status: f"{status.due:,}",
        "failing": lambda status: f"{status.failing:,}",
        "lag": lambda status: f"{status.lag:,.1f} s",
        "source": _source,
    },
    left=("source",),
    rows=_rows,
)

app: Final = group(
    "rows",
    "Keep the rows of a cache fresh; list row caches.",
    list_command("List the row caches: how many rows are scheduled, late and failing.", ROW_CACHES),
)


@app.command("show", example="holdfast rows show stock 42")
@with_client()
def show_cache(hf: Holdfast, name: Name, row_id: RowId = None, as_json: AsJson = False) -> None:
    """Show one row cache; or one of its rows, and why it is in its state."""
    if row_id is None:
        show_resource(hf, ROW_CACHES, name, as_json=as_json)
    else:
        ROW_CACHES.find(hf, name)
        _show_row(hf, name, row_id, as_json=as_json)


@app.command(example="holdfast rows run app.stock:cache")
def run(
    target: Annotated[
        str, argument("MODULE:CACHE", "Module and row cache, such as app.stock:cache.")
    ],
    quiet: Annotated[bool, flag("Log only failures.", "--quiet", "-q")] = False,
) -> None:
    """Refresh the rows of a cache when they are due, until SIGTERM or Ctrl-C.

    Any number of these share the work. Its server is the one of the cache that your
    module makes with hf.row_cache(…, source=…).
    """
    from .. import AsyncRowCache, RowCache

    log_to_stderr(logging.WARNING if quiet else logging.INFO)
    kind = TargetKind((RowCache, AsyncRowCache), "RowCache", "CACHE", "cache", "app.stock:cache")
    cache: RowCache | AsyncRowCache = import_target(target, kind)
    if cache.source is None:
        fail(f"row cache {cache.name!r} has no source: it only reads", code=WRONG_USAGE)
    call_on_stop_signal(cache.stop)
    logger.info("refreshing row cache %r from %r", cache.name, cache.source)
    try:
        if isinstance(cache, AsyncRowCache):
            run_async(cache.run())
        else:
            cache.run()
    except HoldfastError as error:
        fail(str(error))
    logger.info("this process no longer refreshes row cache %r", cache.name)


def _show_row(hf: Holdfast, name: str, text: str, *, as_json: bool) -> None:
    cache, row_id = hf.row_cache(name), _parse_id(text)
    try:
        explanation = cache.explain(row_id)
    except (TypeError, ValueError) as error:
        fail(str(error), code=WRONG_USAGE)
    value, problem = None, ""
    try:
        value = cache.get(row_id).value
    except DecodeError as error:  # the application may have stored the row with another codec
        problem = str(error)
    if as_json:
        print_json({"cache": name, "value": value, "problem": problem}, explanation)
        return
    shown = "none" if value is None else json.dumps(value, ensure_ascii=False)
    print_block(field_table([("row", str(explanation)), ("value", problem or shown)]))


def _parse_id(text: str) -> Any:
    """Return the row id that *text* contains as JSON. If it is no such JSON, return *text*."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, list):
        return tuple(value)
    return value if isinstance(value, int | str) and not isinstance(value, bool) else text
