"""`holdfast rows`: keep the rows of a cache fresh, and look at caches."""

from __future__ import annotations

import json
import logging
import signal
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from .. import DecodeError, HoldfastError
from ..errors.records import logger_of
from .codes import NOT_FOUND, WRONG_USAGE
from .connection import Embedded, Namespace, Url, connected, fail
from .found import like
from .listing import listing
from .logs import log_to_stderr
from .loop import run_async
from .output import AsJson, fields, say, show, show_json, stranger
from .target import Sought, loaded

if TYPE_CHECKING:
    from .. import AsyncRowCache, Holdfast, RowCache, RowCacheStatus

logger = logger_of("holdfast.rows")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The row cache.")]
RowId = Annotated[
    str | None,
    typer.Argument(
        metavar="[ID]", help="One of its rows: 42, a text, or as JSON: '\"42\"', '[\"eu\",7]'."
    ),
]


def ls(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """List the row caches: how many rows are scheduled, late and failing."""
    with connected(url, embedded, namespace, create=False) as hf:
        found = {name: hf.row_cache(name).status() for name in sorted(hf.row_caches())}
    if as_json:
        for name, status in found.items():
            show_json({"cache": name}, status)
        return
    if not found:
        say(f"no row caches in namespace {namespace}")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", overflow="fold")
    for title in ("scheduled", "due", "failing", "lag"):
        table.add_column(title, justify="right")
    table.add_column("source", overflow="fold")
    for name, status in found.items():
        numbers = [f"{n:,}" for n in (status.scheduled, status.due, status.failing)]
        trouble = stranger(status.trouble, "red") if status.trouble else stranger("ok")
        table.add_row(stranger(name), *numbers, f"{status.lag:,.1f} s", trouble)
    show(table)


app = listing("rows", "Keep the rows of a cache fresh; look at row caches.", ls)


@app.command("show")
def show_one(
    name: Name,
    row_id: RowId = None,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
) -> None:
    """Show one row cache; or one of its rows, and why it is as it is."""
    with connected(url, embedded, namespace, create=False) as hf:
        if name not in hf.row_caches():
            close = like(name, hf.row_caches())
            fail(
                f"there is no row cache {name!r} in namespace {namespace!r}{close}", code=NOT_FOUND
            )
        if row_id is not None:
            _show_row(hf, name, row_id, as_json=as_json)
            return
        status = hf.row_cache(name).status()
    if as_json:
        show_json({"cache": name}, status)
    else:
        show(fields(_status(status)))


@app.command()
def run(
    target: Annotated[
        str, typer.Argument(metavar="MODULE:CACHE", help="Where it is, as in app.stock:cache.")
    ],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log only failures.")] = False,
) -> None:
    """Refresh the rows of a cache when they are due, until SIGTERM or Ctrl-C.

    Any number of these share the work. The cache knows its server: it is what your module made by
    hf.row_cache(…, source=…).
    """
    from .. import AsyncRowCache, RowCache

    log_to_stderr(logging.WARNING if quiet else logging.INFO)
    sought = Sought((RowCache, AsyncRowCache), "RowCache", "CACHE", "cache", "app.stock:cache")
    cache: RowCache | AsyncRowCache = loaded(target, sought)
    if cache.source is None:
        fail(f"row cache {cache.name!r} has no source: it only reads", code=WRONG_USAGE)
    _stop_on_signals(cache)
    logger.info("refreshing row cache %r from %r", cache.name, cache.source)
    try:
        if isinstance(cache, AsyncRowCache):
            run_async(cache.run())
        else:
            cache.run()
    except HoldfastError as error:
        fail(str(error))
    logger.info("row cache %r is not refreshed any more by this", cache.name)


def _stop_on_signals(cache: RowCache | AsyncRowCache) -> None:
    """The first signal asks for the end, the second one takes its usual effect."""

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        cache.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


def _show_row(hf: Holdfast, name: str, text: str, *, as_json: bool) -> None:
    cache, row_id = hf.row_cache(name), _id(text)
    try:
        told = cache.explain(row_id)
    except (TypeError, ValueError) as error:
        fail(str(error), code=WRONG_USAGE)
    value, problem = None, ""
    try:
        value = cache.get(row_id).value
    except DecodeError as error:  # it was stored by another codec, perhaps
        problem = str(error)
    if as_json:
        show_json({"cache": name, "value": value, "problem": problem}, told)
        return
    shown = "none" if value is None else json.dumps(value, ensure_ascii=False)
    show(fields([("row", str(told)), ("value", problem or shown)]))


def _id(text: str) -> Any:
    """An id as JSON; what is none is a text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, list):
        return tuple(value)
    return value if isinstance(value, int | str) and not isinstance(value, bool) else text


def _status(status: RowCacheStatus) -> list[tuple[str, str]]:
    return [
        ("scheduled", f"{status.scheduled:,}"),
        ("due", f"{status.due:,}, the latest by {status.lag:,.1f} s"),
        ("loading", f"{status.loading:,}"),
        ("failing", f"{status.failing:,}"),
        ("source", status.trouble or "ok"),
    ]
