"""Rate limiters in one client."""

from typing import Any

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, InvalidName, Limit, RateLimited
from holdfast.core.concurrency._async.primitives import sleep


async def test_no_more_than_the_limit_passes(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("api", Limit(3, per=60.0))
    decisions = [await limiter.try_acquire() for _ in range(5)]
    assert [bool(each) for each in decisions] == [True, True, True, False, False]
    assert [each.remaining["requests"] for each in decisions] == [2, 1, 0, 0, 0]
    refused = decisions[-1]
    assert 50 < refused.retry_after <= 60
    assert 0 < (refused.reset_at - refused.decided_at).total_seconds() <= 60
    assert decisions[0].retry_after == 0


async def test_several_limits_are_charged_together_or_not_at_all(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("llm", Limit(10, per=60.0), Limit(1000, per=60.0, name="tokens"))
    assert await limiter.try_acquire({"tokens": 900})
    refused = await limiter.try_acquire({"tokens": 101})
    assert not refused
    assert refused.remaining == {"requests": 9, "tokens": 100}
    assert (await limiter.try_acquire({"tokens": 100, "requests": 9})).remaining == {
        "requests": 0,
        "tokens": 0,
    }


async def test_limits_with_one_name_count_the_same_cost(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("api", Limit(2, per=2.0), Limit(3, per=60.0))
    assert [bool(await limiter.try_acquire()) for _ in range(3)] == [True, True, False]
    await sleep(2.1)
    answers = [await limiter.try_acquire() for _ in range(2)]
    assert [bool(each) for each in answers] == [True, False]
    assert answers[0].remaining == {"requests": 0}
    assert [each.name for each in answers[0].limits] == ["requests-2s", "requests-60s"]


async def test_a_subject_counts_apart(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("api", Limit(1, per=60.0))
    assert await limiter.of("user:7").try_acquire()
    assert not await limiter.of("user:7").try_acquire()
    assert await limiter.of("user:8").try_acquire()
    assert await limiter.try_acquire()
    assert limiter.of("user:7") is limiter.of("user:7")


async def test_a_wait_beyond_the_timeout_is_refused_at_once(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("api", Limit(1, per=60.0))
    await limiter.acquire()
    with pytest.raises(RateLimited, match="limit 'api/' lets nothing more pass") as caught:
        await limiter.acquire(timeout=5)
    assert 50 < caught.value.retry_after <= 60
    assert isinstance(caught.value, TimeoutError)
    assert (await limiter.peek()).limits[0].reserved == 0


async def test_settle_corrects_the_charge(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("llm", Limit(1000, per=60.0, name="tokens"))
    permit = await limiter.acquire({"tokens": 800})
    assert permit.decision.remaining == {"tokens": 200}
    await permit.settle({"tokens": 300})
    assert (await limiter.peek()).remaining == {"tokens": 700}
    await permit.settle({"tokens": 5000})
    assert permit.charged == {"tokens": 5000}
    assert not await limiter.try_acquire({"tokens": 1})
    await permit.cancel()
    assert (await limiter.peek()).remaining == {"tokens": 1000}


async def test_what_no_longer_matters_expires(hf: AsyncHoldfast, site: Site) -> None:
    limiter = hf.rate_limit("api", Limit(2, per=2.0))
    assert await limiter.try_acquire(2)
    keys = list(site.client.scan_iter(f"{site.namespace}:{{limit:*"))
    assert len(keys) == 1
    assert 0 < site.client.pttl(keys[0]) <= 2000
    await sleep(2.1)
    assert not site.client.exists(keys[0])
    assert await limiter.try_acquire(2)


async def test_reset_forgets_what_passed(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("api", Limit(1, per=60.0))
    assert await limiter.try_acquire()
    assert await limiter.reset()
    assert not await limiter.reset()
    assert await limiter.try_acquire()


async def test_an_operation_with_an_id_is_charged_once(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("api", Limit(2, per=60.0))
    for _ in range(3):
        assert await limiter.try_acquire(op_id="order-1")
    assert (await limiter.peek()).remaining == {"requests": 1}
    permit = await limiter.acquire(op_id="order-2")
    for _ in range(3):
        await permit.settle({"requests": 0}, op_id="settled")
    assert (await limiter.peek()).remaining == {"requests": 1}


async def test_every_subject_can_be_counted(hf: AsyncHoldfast) -> None:
    """Clients may choose it: names with braces, long ones, and what is no valid text."""
    limiter = hf.rate_limit("api", Limit(1, per=60.0))
    subjects = ["", "{a}", "}{:*", "a/b", "~", "x" * 2000, "x" * 2001, "ü" * 300, "\ud800"]
    for subject in subjects:
        assert await limiter.of(subject).try_acquire()
        assert not await limiter.of(subject).try_acquire()
    long = hf.rate_limit("l" * 500, Limit(1, per=60.0))
    with pytest.raises(InvalidName):
        await long.of("x" * 50).try_acquire()
    for wrong in (7, None, b"user:7"):
        with pytest.raises(TypeError, match="a subject must be a str"):
            limiter.of(wrong)  # type: ignore[arg-type]


async def test_huge_costs_are_counted_exactly(hf: AsyncHoldfast) -> None:
    """Also what waits for several windows: the sum is more than a log stores in one number."""
    subject = hf.rate_limit("huge", Limit(10**12, per=60.0))._subject
    costs = [10**12, 10**12, 10**12, 5 * 10**11, 6 * 10**11]
    got = [await subject.reserve((cost,), "", None, None) for cost in costs]
    first = got[0].at_ms
    assert [each.at_ms - first for each in got] == [0, 60_000, 120_000, 180_000, 240_000]
    for each, cost in zip(got, costs, strict=True):
        await subject.correct(each.at_ms, [10**12 - cost], None, None)
    for each in got[1:]:
        await subject.undo(each.mark, each.at_ms, (10**12,))
    assert (await subject.peek((1,))).limits[0].used == 10**12


async def test_a_wait_beyond_all_clocks_is_refused(hf: AsyncHoldfast) -> None:
    limit = Limit(1, per=366 * 86_400.0)
    subject = hf.rate_limit("far", limit)._subject
    instants = []
    for _ in range(101):
        reservation = await subject.reserve((1,), "", None, None)
        assert reservation.is_reserved
        instants.append(reservation.at_ms)
    assert instants == sorted(set(instants))
    with pytest.raises(RateLimited):
        await hf.rate_limit("far", limit).acquire()


async def test_each_of_many_charges_is_corrected_upwards(hf: AsyncHoldfast) -> None:
    """Each correction may add an entry to a log with merged entries."""
    limiter = hf.rate_limit("llm", Limit(10**6, per=600.0, name="tokens"))
    permits = []
    for n in range(300):
        permits.append(await limiter.acquire({"tokens": 10}))
        await sleep(0.002 if n % 2 else 0)
    for n, permit in enumerate(permits, 1):
        await permit.settle({"tokens": 25})
        assert (await limiter.peek()).remaining == {"tokens": 10**6 - 3000 - 15 * n}
    assert (await hf.audit()).damages == ()


@pytest.mark.parametrize(
    ("costs", "error"),
    [
        (11, "never fits"),
        ({"requests": -1, "tokens": 1}, "0 or more"),
        ({"requests": 1}, "give the cost of 'tokens'"),
        ({"tokens": 1, "words": 1}, "no limit is called 'words'"),
    ],
)
async def test_wrong_costs_are_refused_at_once(hf: AsyncHoldfast, costs: Any, error: str) -> None:
    limiter = hf.rate_limit("api", Limit(10, per=1.0), Limit(5, per=1.0, name="tokens"))
    with pytest.raises(ValueError, match=error):
        await limiter.acquire(costs)


async def test_actual_costs_have_names(hf: AsyncHoldfast) -> None:
    permit = await hf.rate_limit("api", Limit(10, per=1.0)).acquire()
    for costs in (5, "requests", ["requests"], None):
        with pytest.raises(TypeError, match="give the actual costs by name, as in "):
            await permit.settle(costs)  # type: ignore[arg-type]


async def test_a_deploy_may_change_limits(hf: AsyncHoldfast) -> None:
    """What has passed still counts, by the name of the limit."""
    assert await hf.rate_limit("api", Limit(5, per=60.0)).try_acquire(4)
    assert (await hf.rate_limit("api", Limit(10, per=120.0)).peek()).remaining == {"requests": 6}
    smaller = await hf.rate_limit("api", Limit(2, per=60.0)).try_acquire()
    assert (bool(smaller), smaller.remaining) == (False, {"requests": 0})
    more = hf.rate_limit("api", Limit(5, per=30.0), Limit(9, per=60.0, name="tokens"))
    assert (await more.try_acquire({"tokens": 2})).remaining == {"requests": 0, "tokens": 7}
    assert not await hf.rate_limit("api", Limit(5, per=60.0)).try_acquire()
    assert (await more.peek()).remaining == {"requests": 0, "tokens": 7}


async def test_limiters_are_listed_and_audited(hf: AsyncHoldfast) -> None:
    limits = (Limit(60, per=60.0), Limit(90_000, per=0.5, name="tokens"))
    await hf.rate_limit("a/b~{c}", *limits).of("user:{7}").try_acquire({"tokens": 1})
    assert await hf.rate_limits() == {"a/b~{c}": limits}
    assert await hf.rate_limits(containing="x") == {}
    assert (await hf.audit()).damages == ()


async def test_a_decorated_function_is_limited(hf: AsyncHoldfast) -> None:
    limiter = hf.rate_limit("api", Limit(10, per=60.0))

    @limiter.limited(subject=lambda host, n: host, costs=lambda host, n: n, timeout=0)
    async def fetch(host: str, n: int) -> int:
        """Fetch a page."""
        return n

    assert fetch.__doc__ == "Fetch a page."
    assert await fetch("a", 7) == 7
    with pytest.raises(RateLimited):
        await fetch("a", 4)
    assert await fetch("b", n=4) == 4
    assert (await limiter.of("a").peek()).remaining == {"requests": 3}
