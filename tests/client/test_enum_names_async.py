"""Names that are members of an enumeration are their values, also in composed names."""

import enum
from typing import Any

from conftest import Site
from holdfast import AsyncHoldfast, Limit, Match, TaskRegistry


class Plan(str, enum.Enum):  # noqa: UP042 (a `StrEnum` shows as its value)
    """Texts as applications collect them. `f"{Plan.FREE}"` is `Plan.FREE`."""

    FREE = "free"


tasks = TaskRegistry()


@tasks.task(queue="q")
def nothing() -> None:
    """Do nothing."""


class Rows:
    """A source that has all rows."""

    async def load(self, ids: list[Any]) -> dict[Any, Any]:
        """Return the rows."""
        return dict.fromkeys(ids, 7)


async def test_a_subject_and_the_name_of_a_limit(hf: AsyncHoldfast) -> None:
    for name in (Plan.FREE, "free"):
        limiter = hf.rate_limit("api", Limit(5, per=60.0, name=name)).of(name)
        assert await limiter.try_acquire({name: 2})
    assert (await limiter.peek()).remaining == {"free": 1}
    assert await hf.rate_limits() == {"api": (Limit(5, per=60.0, name="free"),)}


async def test_names_that_are_completed(hf: AsyncHoldfast) -> None:
    names, recent = hf.completions("plans"), hf.recent("plans")
    assert await names.add(Plan.FREE, id=Plan.FREE)
    assert not await names.add("free", id="free")
    assert await names.search(Plan.FREE) == [Match("free", "free")]
    await recent.touch(Plan.FREE)
    assert await recent.all() == ["free"]
    assert await recent.remove(Plan.FREE)


async def test_rows_results_and_groups(hf: AsyncHoldfast, site: Site) -> None:
    await hf.row_cache(Plan.FREE, source=Rows()).get("7")
    assert (await hf.row_cache("free").get("7")).value == 7

    async def double(n: int) -> int:
        return 2 * n

    assert await hf.cached(ttl=60.0, name=Plan.FREE)(double)(4) == 8
    group = await hf.enqueue_group([nothing.call()], group_id=Plan.FREE)
    assert group.group_id == "free"
    assert hf.group_handle(Plan.FREE).group_id == "free"
    stored = list(site.client.scan_iter(match=f"{site.namespace}:*"))
    assert stored
    assert not [key for key in stored if b"Plan" in key]
