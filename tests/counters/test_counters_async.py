"""Counters in one client: adding, reading, redefining, listing."""

import math
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from conftest import Site
from holdfast import (
    AsyncCounter,
    AsyncHoldfast,
    CounterOverflow,
    CounterState,
    DefinitionConflict,
    InvalidName,
    TimeOutOfRange,
)
from holdfast.core.concurrency._async.primitives import sleep

PRECISIONS = (1, 5, 60, 300, 3600, 18_000, 86_400)


async def sums(counter: AsyncCounter) -> list[int]:
    return [sum(sample.value for sample in await counter.samples(p)) for p in PRECISIONS]


async def test_all_precisions_count_the_same(hf: AsyncHoldfast) -> None:
    hits = hf.counter("hits")
    await hits.add()
    await hits.add(5)
    await hits.add(-2)
    await hits.add(0)
    assert await sums(hits) == [4] * 7
    await hits.add(100, at=time.time() - 500)  # the finest keeps samples of two minutes
    assert await sums(hits) == [4, 104, *[104] * 5]
    assert await hits.total(60) == 4
    assert await hits.total(timedelta(hours=1)) == 104
    assert await hits.rate(3600) == 104 / 3600


async def test_samples_have_no_gaps(hf: AsyncHoldfast) -> None:
    hits = hf.counter("hits")
    now = time.time()
    await hits.add(3, at=now - 180)
    await hits.add(1)
    samples = await hits.samples(60)
    assert len(samples) == 120
    starts = [sample.start.timestamp() for sample in samples]
    assert starts == [starts[0] + 60 * n for n in range(120)]
    assert starts[0] % 60 == 0
    assert [sample.value for sample in samples if sample.value] == [3, 1]
    part = await hits.samples(60, start=now - 180, end=datetime.fromtimestamp(now - 120, UTC))
    assert [sample.value for sample in part] == [3, 0]
    assert await hits.samples(60, start=now + 3600) == []
    assert await hits.samples(60, end=0) == []
    with pytest.raises(
        ValueError, match=r"counter 'hits' has no precision of 7 s; it has 1, 5, 60"
    ):
        await hits.samples(7)
    with pytest.raises(ValueError, match="more than it keeps"):
        await hits.total(1e9)


async def test_a_counter_that_does_not_exist(hf: AsyncHoldfast) -> None:
    assert await hf.counter("none").total(3600) == 0
    assert len(await hf.counter("none").samples(1)) == 120
    assert await hf.known_counters() == []


async def test_times_out_of_range(hf: AsyncHoldfast) -> None:
    """Zero means 1970, not now; and an error leaves nothing half applied."""
    hits = hf.counter("hits")
    with pytest.raises(TimeOutOfRange, match=r"counter 'hits': the time .* is older than"):
        await hits.add(at=0)
    with pytest.raises(TimeOutOfRange, match="s ahead of the server's clock") as caught:
        await hits.add(at=time.time() + 1000)
    assert 990 < caught.value.ahead < 1010
    assert await sums(hits) == [0] * 7
    await hits.add(at=time.time() + 30)  # a clock that is a little fast
    assert await sums(hits) == [1] * 7


async def test_an_overflow_counts_nothing(hf: AsyncHoldfast) -> None:
    hits = hf.counter("hits")
    await hits.add(2**63 - 1)
    with pytest.raises(CounterOverflow):
        await hits.add(1)
    await hits.add(-(2**63 - 1), at=time.time() - 600)  # the coarse samples are zero again
    before = await sums(hits)
    with pytest.raises(CounterOverflow):
        await hits.add(2**62)
    assert await sums(hits) == before


async def test_the_server_keeps_the_definition(hf: AsyncHoldfast) -> None:
    await hf.counter("c", precisions=(10, 100), keep=5).add()
    with pytest.raises(DefinitionConflict, match=r"the precisions of counter 'c' is") as caught:
        await hf.counter("c", precisions=[1], on_conflict="error").add()
    assert (caught.value.stored, caught.value.given) == ((10, 100), (1,))
    plain = hf.counter("c")
    await plain.add(2)
    assert [sample.value for sample in await plain.samples(10)][-2:].count(0) <= 1
    assert len(await plain.samples(100)) == 5
    other = hf.counter("c")
    await other.redefine(precisions=(10, 1000), keep=5)
    await plain.add(4)
    assert sum(sample.value for sample in await plain.samples(1000)) == 4
    assert sum(sample.value for sample in await plain.samples(10)) == 7
    with pytest.raises(DefinitionConflict):
        await hf.counter("c", precisions=(10, 100), keep=5, on_conflict="error").add()


async def test_options_that_are_not_given_come_from_the_server(hf: AsyncHoldfast) -> None:
    await hf.counter("c", precisions=(10, 100), keep=5).add()
    await hf.counter("c", keep=5).add()
    await hf.counter("c", precisions=(100, 10)).add()
    assert await hf.counter("c", keep=5).total(400) == 3
    for wrong in (
        hf.counter("c", keep=6, on_conflict="error"),
        hf.counter("c", precisions=(10, 100), keep=6, on_conflict="error"),
    ):
        for asking in (wrong.add, partial(wrong.total, 400), partial(wrong.samples, 10)):
            with pytest.raises(DefinitionConflict, match="the keep of counter 'c' is 5, not 6"):
                await asking()
    assert await hf.counter("c").total(400) == 3


async def test_redefining_one_option(hf: AsyncHoldfast) -> None:
    hits = hf.counter("c", precisions=(10, 100), keep=5, on_conflict="error")
    await hits.add()
    await hits.redefine(keep=7)
    await hits.add()
    assert await hf.counter("c").inspect() == CounterState((10, 100), 7)
    await hits.redefine(precisions=[1000, 10], op_id="finer")
    await hits.redefine(keep=8)
    await hits.redefine(precisions=[1000, 10], op_id="finer")
    assert await hits.inspect() == CounterState((10, 1000), 8)
    await hits.add()
    assert await hits.total(2000) == 1  # a new precision begins empty
    await hf.counter("c").redefine(keep=9)
    with pytest.raises(DefinitionConflict, match="is 9, not 8"):
        await hits.add()
    fresh = hf.counter("d")
    await fresh.redefine(keep=9)
    assert await fresh.inspect() == CounterState((1, 5, 60, 300, 3600, 18_000, 86_400), 9)
    await hf.counter("d").redefine(keep=4)
    await fresh.add()  # its own options are still empty
    with pytest.raises(ValueError, match="give precisions, keep or both"):
        await hits.redefine()


async def test_the_client_that_redefines_knows_the_definition(
    hf: AsyncHoldfast, site: Site
) -> None:
    hits = hf.counter("c")
    await hits.add()
    await hits.redefine(precisions=(1, 60))
    await hits.redefine(keep=10)
    for key in site.client.scan_iter(match=f"{site.namespace}:{{counter:c}}:*"):
        site.client.delete(key)
    await hits.add()
    assert await hf.counter("c").inspect() == CounterState((1, 60), 10)


async def test_a_total_after_another_client_redefined(hf: AsyncHoldfast) -> None:
    hits, other = hf.counter("c", keep=120), hf.counter("c")
    plain = hf.counter("c")
    await hits.add(5)
    assert await plain.total(60) == 5
    await other.redefine(precisions=(60, 3600))
    await other.add(2)
    assert await plain.total(60) in {2, 5 + 2}  # a new precision begins empty
    await other.redefine(precisions=(3600,))
    assert await plain.total(3600) == await other.total(3600)


@pytest.mark.parametrize("keep", range(101, 107))
async def test_nothing_is_lost_when_keep_changes(hf: AsyncHoldfast, keep: int) -> None:
    hits = hf.counter("hits", precisions=(3600, 86_400), keep=100)
    await hits.add(5)
    await hits.redefine(precisions=(3600, 86_400), keep=keep)
    await hits.add(3)
    for precision in (3600, 86_400):
        assert sum(sample.value for sample in await hits.samples(precision)) == 8


@pytest.mark.parametrize("precision", [True, 60.0, "60", None])
async def test_precisions_that_are_not_ints(hf: AsyncHoldfast, precision: Any) -> None:
    with pytest.raises(TypeError, match="precision must be an int"):
        await hf.counter("hits").samples(precision)


async def test_invalid_windows_and_times(hf: AsyncHoldfast) -> None:
    hits = hf.counter("hits")
    for window in (0, -1, math.nan, math.inf):
        with pytest.raises(ValueError, match="window must be"):
            await hits.total(window)
        with pytest.raises(ValueError, match="window must be"):
            await hits.rate(window)
    for at in (math.nan, math.inf, -1, 1e18):
        with pytest.raises(ValueError, match="at must be"):
            await hits.add(at=at)
    for wrong in (True, "now", timedelta(0)):
        with pytest.raises(TypeError, match="at must be epoch seconds or an aware datetime, got"):
            await hits.add(at=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidName):
        hf.counter("\ud800")
    assert await hf.known_counters() == []


async def test_known_counters_are_sorted(hf: AsyncHoldfast) -> None:
    for name in ("b", "c", "a"):
        await hf.counter(name).add()
    assert await hf.known_counters() == ["a", "b", "c"]


async def test_an_expired_counter_is_not_listed(hf: AsyncHoldfast, site: Site) -> None:
    await hf.counter("kept").add()
    await hf.counter("gone", precisions=[1], keep=1).add()
    # On a slow machine it has already expired.
    assert await hf.counter("gone").inspect() in (CounterState((1,), 1), None)
    while await hf.counter("gone").inspect():
        await sleep(0.1)
    assert await hf.known_counters() == ["kept"]
    names = site.client.zrange(f"{site.namespace}:{{catalog:counter}}:names", 0, -1)
    assert names == [b"kept"]


@pytest.mark.parametrize("method", ["add", "redefine", "buffer"])
async def test_an_expired_counter_is_listed_again_after_an_add(
    hf: AsyncHoldfast, site: Site, method: str
) -> None:
    gone = hf.counter("gone", precisions=[1], keep=1)
    buffer = hf.counter_buffer(flush_every=3600)
    await gone.add()
    while await gone.inspect():
        await sleep(0.1)
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as other:
        assert await other.known_counters() == []
    if method == "add":
        await hf.counter("gone", precisions=[60], keep=2).add()
    elif method == "redefine":
        await gone.redefine(precisions=(60,), keep=2)
    else:
        buffer.add("gone")
        await buffer.flush()
    assert await hf.known_counters() == ["gone"]


async def test_all_keys_of_a_counter_expire(hf: AsyncHoldfast, site: Site) -> None:
    await hf.counter("gone", precisions=(60, 120), keep=2).add()
    prefix = f"{site.namespace}:{{counter:gone}}:*"
    keys = [key for key in site.client.scan_iter(match=prefix) if b"ledger" not in key]
    assert len(keys) == 3
    ends = [site.client.pttl(key) for key in keys]
    assert all(0 < ms <= 480_000 for ms in ends)


async def test_the_last_microsecond_of_a_minute_is_in_that_minute(hf: AsyncHoldfast) -> None:
    hits = hf.counter("hits")
    begin = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5)
    last = begin + timedelta(minutes=1) - timedelta(microseconds=1)
    await hits.add(3, at=last)
    await hits.add(4, at=last.timestamp())
    assert await hits.samples(60, start=begin, end=last) == [(begin, 7)]
    assert await hits.samples(60, start=last, end=begin) == [(begin, 7)]


async def test_an_add_in_the_past_does_not_shorten_the_life_of_the_definition(
    hf: AsyncHoldfast, site: Site
) -> None:
    hits = hf.counter("past", precisions=[3600], keep=1)
    await hits.add()
    definition = f"{site.namespace}:{{counter:past}}:definition"
    ends_ms = site.client.pexpiretime(definition)
    await hits.add(at=time.time() - 3600)  # in the previous chunk
    assert site.client.pexpiretime(definition) >= ends_ms
