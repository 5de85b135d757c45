"""The types of tasks survive what is made of them.

Checked by mypy and basedpyright, never run; see `api.py`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_type

from holdfast import (
    RESULT,
    AsyncGroupHandle,
    AsyncHoldfast,
    AsyncTaskHandle,
    CacheRegistry,
    Call,
    GroupHandle,
    Holdfast,
    MemberResult,
    Outbox,
    PerKey,
    Retry,
    Task,
    TaskHandle,
    TaskRegistry,
    Unique,
    chain,
    group,
)

tasks = TaskRegistry()
caches = CacheRegistry()


class Sale:
    """A model: it need not be one of the library."""


@tasks.task(queue="sales", unique=Unique(key="item"), retry=Retry(attempts=3))
async def sell(item: str, price: int = 1, *, buyer: str = "") -> Sale:
    raise NotImplementedError


@tasks.task(limit=PerKey("user_id", concurrency=2), timeout=5.0, cpu=True)
def count(user_id: int, *words: str) -> int:
    return len(words) + user_id


@tasks.task()
def totals(sales: list[Sale]) -> dict[str, float]:
    return {"": float(len(sales))}


@tasks.task()
@caches.cached(ttl=60.0)
async def rates(currency: str) -> list[float]:
    return [float(len(currency))]


# The decorator keeps the parameters and the result.

assert_type(sell.call("tea"), Call[Sale])
assert_type(count.call(7, "a", "b"), Call[int])
assert_type(totals.call([]), Call[dict[str, float]])
assert_type(rates.call("eur"), Call[list[float]])
sell.call(7)  # type: ignore[arg-type]
sell.call("tea", cost=7)  # type: ignore[call-arg]
count.call(7, 8)  # type: ignore[arg-type]
totals.call(["tea"])  # type: ignore[list-item]
rates.call(7)  # type: ignore[arg-type]


def takes_sales(call: Call[Sale]) -> Task[..., Any]:
    return tasks.get(call.task)


# So do options.

assert_type(sell.call("tea").options(delay=60.0, unique=False), Call[Sale])
assert_type(sell.call("tea").options(priority="low").options(headers={"a": "b"}), Call[Sale])
takes_sales(sell.call("tea").options(expires=timedelta(days=1)))
takes_sales(count.call(7).options(delay=1.0))  # type: ignore[arg-type]


def results(hf: Holdfast) -> None:
    """Wait for results: handles know what the task returns."""
    sold = hf.enqueue(sell.call("tea", 7, buyer="ann").options(delay=1.0))
    assert_type(sold, TaskHandle[Sale])
    assert_type(sold.result(), Sale)
    assert_type(hf.enqueue(rates.call("eur")).result(timeout=5.0), list[float])
    counted = hf.enqueue_many(count.call(n).options(priority="low") for n in range(9))
    assert_type(counted, list[TaskHandle[int]])
    assert_type([each.result() for each in counted], list[int])
    assert_type(hf.queue("sales").handle("s-1"), TaskHandle[Any])


async def awaited_results(hf: AsyncHoldfast) -> None:
    """Do the same in asyncio."""
    sold = await hf.enqueue(sell.call("tea"))
    assert_type(sold, AsyncTaskHandle[Sale])
    assert_type(await sold.result(), Sale)
    assert_type(await (await hf.enqueue(rates.call("eur"))).result(), list[float])


def groups(hf: Holdfast) -> None:
    """Enqueue groups: calls of one type have results of that type, others have any."""
    sales = hf.enqueue_group([sell.call("tea"), sell.call("rum")], then=totals.call(RESULT))
    assert_type(sales, GroupHandle[Sale])
    counted = hf.enqueue_group(count.call(n).options(delay=1.0) for n in range(9))
    assert_type(counted, GroupHandle[int])
    for member in counted.results():
        assert_type(member, MemberResult[int])
        assert_type(member.value, int | None)
    mixed = hf.enqueue_group([sell.call("tea"), group([count.call(1)]), chain(count.call(2))])
    assert_type(mixed, GroupHandle[Any])
    assert_type(hf.enqueue_group(chain(sell.call("tea"), totals)), GroupHandle[Any])
    assert_type(hf.group_handle("g-1"), GroupHandle[Any])
    chain(sell.call("tea"), totals, on_failure=count.call(1))
    group([count.call(n) for n in range(3)], then=totals.call(RESULT))
    hf.enqueue_group(sell.call("tea"))  # type: ignore[call-overload]
    hf.enqueue_group([sell])  # type: ignore[arg-type]
    chain("tea")  # type: ignore[arg-type]


async def awaited_groups(hf: AsyncHoldfast) -> None:
    """Iterate over the results asynchronously."""
    counted = await hf.enqueue_group([count.call(n) for n in range(9)])
    assert_type(counted, AsyncGroupHandle[int])
    async for member in counted.results():
        assert_type(member.value, int | None)


def outboxes(outbox: Outbox, session: Any) -> None:
    """Write calls of any task into an outbox."""
    outbox.enqueue(session, sell.call("tea").options(delay=1.0))
    outbox.enqueue(session, sell)  # type: ignore[call-overload]
