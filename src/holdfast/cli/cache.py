"""`holdfast cache`: list cached functions, show their hit rates, and invalidate results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

from ..inspect.formats import exact_duration, percent, size
from .confirm import Yes, confirm
from .connection import fail, with_client
from .exit_codes import WRONG_USAGE
from .options import argument, option
from .output import print_line
from .resources import Resource, Row, group, list_command, show_command

if TYPE_CHECKING:
    from .. import CachedFunctionStatus, Holdfast

Name = Annotated[str, argument("[FUNCTION]", "The cached function.")]
Key = Annotated[
    str, option("KEY", "The end of the key of one result, such as '1:[42]'; by default all.")
]
Tags = Annotated[
    list[str] | None,
    option("TAG", "Invalidate all results with this tag, of all functions. Repeatable.", "--tag"),
]


def _rate(status: CachedFunctionStatus) -> str:
    return "" if status.hit_rate is None else percent(status.hit_rate)


def _life(status: CachedFunctionStatus) -> str:
    ttl = "by result" if status.ttl is None else exact_duration(status.ttl)
    return f"{ttl} + {exact_duration(status.stale)} stale" if status.stale else ttl


def _rows(status: CachedFunctionStatus) -> Iterator[Row]:
    yield "version", f"{status.version}"
    yield "fresh for", _life(status)
    if status.refresh is not None:
        yield "refreshed after", exact_duration(status.refresh)
    yield "calls", f"{status.calls:,}"
    yield "hit rate", _rate(status)
    yield "from memory", f"{status.near:,}"
    yield "from the server", f"{status.hits:,}"
    yield "stale", f"{status.stale_hits:,}"
    yield "missed", f"{status.misses:,}"
    yield "without cache", f"{status.direct:,}"
    mean = "" if status.load_seconds is None else f", {status.load_seconds * 1000:,.0f} ms each"
    yield "loads", f"{status.loads:,}{mean}"
    yield "in background", f"{status.refreshes:,}"
    yield "failures", f"{status.failures:,}"
    yield "memory", f"about {size(status.memory)}"


def _json(status: CachedFunctionStatus) -> dict[str, Any]:
    fields = {name: getattr(status, name) for name in status.__struct_fields__ if name != "name"}
    return {**fields, "calls": status.calls, "hit_rate": status.hit_rate}


FUNCTIONS: Final = Resource["CachedFunctionStatus"](
    noun="cached function",
    key="function",
    names=lambda hf: hf.cached_functions(),
    read=lambda hf, name: hf.cached_function(name),
    every=lambda hf: hf.cached_functions(),
    columns={
        "calls": lambda status: f"{status.calls:,}",
        "hits": _rate,
        "loads": lambda status: f"{status.loads:,}",
        "failures": lambda status: f"{status.failures:,}",
        "memory": lambda status: size(status.memory),
        "fresh for": _life,
    },
    as_json=_json,
    rows=_rows,
    left=("fresh for",),
)

app: Final = group(
    "cache",
    "List cached functions; show and invalidate their results.",
    list_command(
        """List the cached functions of the last month: calls, hits and loads of 24 hours.

        Processes report what they count every 10 seconds. The memory is an estimate.
        """,
        FUNCTIONS,
    ),
)
app.command("show", example="holdfast cache show app.profile")(
    show_command("Show what all processes have counted about one function.", FUNCTIONS)
)


@app.command("invalidate", example="holdfast cache invalidate app.profile --key '1:[42]'")
@with_client()
def invalidate(
    hf: Holdfast, name: Name = "", key: Key = "", tags: Tags = None, yes: Yes = False
) -> None:
    """Invalidate all results of a function, one of them, or all results with a tag."""
    if bool(name) == bool(tags) or (key and not name):
        fail("name a function, with or without --key, or give --tag", code=WRONG_USAGE)
    if tags:
        what = f"all results with the tag {' or '.join(map(repr, tags))}"
        confirm(f"invalidate {what}", yes=yes)
        hf.invalidate_tags(*tags)
    else:
        if hf.cached_function(name) is None:
            FUNCTIONS.not_found(hf, name)
        one = f"the result {key!r}" if key else "all results"
        what = f"{one} of cached function {name!r}"
        confirm(f"invalidate {what}", yes=yes)
        hf.invalidate_cached(name, key=key or None)
    print_line(f"invalidated {what}")
