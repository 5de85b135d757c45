# Generated from test_enum_names_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Names that are members of an enumeration are their values, also in composed names."""

import enum
from typing import Any

from conftest import Site
from holdfast import Holdfast, Limit, Match, TaskRegistry


class Plan(str, enum.Enum):  # noqa: UP042 (a `StrEnum` shows as its value)
    """Texts as applications collect them. `f"{Plan.FREE}"` is `Plan.FREE`."""

    FREE = "free"


tasks = TaskRegistry()


@tasks.task(queue="q")
def nothing() -> None:
    """Do nothing."""


class Rows:
    """A source that has all rows."""

    def load(self, ids: list[Any]) -> dict[Any, Any]:
        """Return the rows."""
        return dict.fromkeys(ids, 7)


def test_a_subject_and_the_name_of_a_limit(hf: Holdfast) -> None:
    for name in (Plan.FREE, "free"):
        limiter = hf.rate_limit("api", Limit(5, per=60.0, name=name)).of(name)
        assert limiter.try_acquire({name: 2})
    assert (limiter.peek()).remaining == {"free": 1}
    assert hf.rate_limits() == {"api": (Limit(5, per=60.0, name="free"),)}


def test_names_that_are_completed(hf: Holdfast) -> None:
    names, recent = hf.completions("plans"), hf.recent("plans")
    assert names.add(Plan.FREE, id=Plan.FREE)
    assert not names.add("free", id="free")
    assert names.search(Plan.FREE) == [Match("free", "free")]
    recent.touch(Plan.FREE)
    assert recent.all() == ["free"]
    assert recent.remove(Plan.FREE)


def test_rows_results_and_groups(hf: Holdfast, site: Site) -> None:
    hf.row_cache(Plan.FREE, source=Rows()).get("7")
    assert (hf.row_cache("free").get("7")).value == 7

    def double(n: int) -> int:
        return 2 * n

    assert hf.cached(ttl=60.0, name=Plan.FREE)(double)(4) == 8
    group = hf.enqueue_group([nothing.call()], group_id=Plan.FREE)
    assert group.group_id == "free"
    assert hf.group_handle(Plan.FREE).group_id == "free"
    stored = list(site.client.scan_iter(match=f"{site.namespace}:*"))
    assert stored
    assert not [key for key in stored if b"Plan" in key]
