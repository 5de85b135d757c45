# Generated from test_counters_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Counters in one client: adding, reading, redefining, listing."""

import math
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from conftest import Site
from holdfast import (
    Counter,
    CounterOverflow,
    CounterState,
    DefinitionConflict,
    Holdfast,
    InvalidName,
    TimeOutOfRange,
)
from holdfast.core.concurrency._sync.primitives import sleep

PRECISIONS = (1, 5, 60, 300, 3600, 18_000, 86_400)


def sums(counter: Counter) -> list[int]:
    return [sum(sample.value for sample in counter.samples(p)) for p in PRECISIONS]


def test_all_precisions_count_the_same(hf: Holdfast) -> None:
    hits = hf.counter("hits")
    hits.add()
    hits.add(5)
    hits.add(-2)
    hits.add(0)
    assert sums(hits) == [4] * 7
    hits.add(100, at=time.time() - 500)  # the finest keeps samples of two minutes
    assert sums(hits) == [4, 104, *[104] * 5]
    assert hits.total(60) == 4
    assert hits.total(timedelta(hours=1)) == 104
    assert hits.rate(3600) == 104 / 3600


def test_samples_have_no_gaps(hf: Holdfast) -> None:
    hits = hf.counter("hits")
    now = time.time()
    hits.add(3, at=now - 180)
    hits.add(1)
    samples = hits.samples(60)
    assert len(samples) == 120
    starts = [sample.start.timestamp() for sample in samples]
    assert starts == [starts[0] + 60 * n for n in range(120)]
    assert starts[0] % 60 == 0
    assert [sample.value for sample in samples if sample.value] == [3, 1]
    part = hits.samples(60, start=now - 180, end=datetime.fromtimestamp(now - 120, UTC))
    assert [sample.value for sample in part] == [3, 0]
    assert hits.samples(60, start=now + 3600) == []
    assert hits.samples(60, end=0) == []
    with pytest.raises(
        ValueError, match=r"counter 'hits' has no precision of 7 s; it has 1, 5, 60"
    ):
        hits.samples(7)
    with pytest.raises(ValueError, match="more than it keeps"):
        hits.total(1e9)


def test_a_counter_that_does_not_exist(hf: Holdfast) -> None:
    assert hf.counter("none").total(3600) == 0
    assert len(hf.counter("none").samples(1)) == 120
    assert hf.known_counters() == []


def test_times_out_of_range(hf: Holdfast) -> None:
    """Zero means 1970, not now; and an error leaves nothing half applied."""
    hits = hf.counter("hits")
    with pytest.raises(TimeOutOfRange, match=r"counter 'hits': the time .* is older than"):
        hits.add(at=0)
    with pytest.raises(TimeOutOfRange, match="s ahead of the server's clock") as caught:
        hits.add(at=time.time() + 1000)
    assert 990 < caught.value.ahead < 1010
    assert sums(hits) == [0] * 7
    hits.add(at=time.time() + 30)  # a clock that is a little fast
    assert sums(hits) == [1] * 7


def test_an_overflow_counts_nothing(hf: Holdfast) -> None:
    hits = hf.counter("hits")
    hits.add(2**63 - 1)
    with pytest.raises(CounterOverflow):
        hits.add(1)
    hits.add(-(2**63 - 1), at=time.time() - 600)  # the coarse samples are zero again
    before = sums(hits)
    with pytest.raises(CounterOverflow):
        hits.add(2**62)
    assert sums(hits) == before


def test_the_server_keeps_the_definition(hf: Holdfast) -> None:
    hf.counter("c", precisions=(10, 100), keep=5).add()
    with pytest.raises(DefinitionConflict, match=r"the precisions of counter 'c' is") as caught:
        hf.counter("c", precisions=[1], on_conflict="error").add()
    assert (caught.value.stored, caught.value.given) == ((10, 100), (1,))
    plain = hf.counter("c")
    plain.add(2)
    assert [sample.value for sample in plain.samples(10)][-2:].count(0) <= 1
    assert len(plain.samples(100)) == 5
    other = hf.counter("c")
    other.redefine(precisions=(10, 1000), keep=5)
    plain.add(4)
    assert sum(sample.value for sample in plain.samples(1000)) == 4
    assert sum(sample.value for sample in plain.samples(10)) == 7
    with pytest.raises(DefinitionConflict):
        hf.counter("c", precisions=(10, 100), keep=5, on_conflict="error").add()


def test_options_that_are_not_given_come_from_the_server(hf: Holdfast) -> None:
    hf.counter("c", precisions=(10, 100), keep=5).add()
    hf.counter("c", keep=5).add()
    hf.counter("c", precisions=(100, 10)).add()
    assert hf.counter("c", keep=5).total(400) == 3
    for wrong in (
        hf.counter("c", keep=6, on_conflict="error"),
        hf.counter("c", precisions=(10, 100), keep=6, on_conflict="error"),
    ):
        for asking in (wrong.add, partial(wrong.total, 400), partial(wrong.samples, 10)):
            with pytest.raises(DefinitionConflict, match="the keep of counter 'c' is 5, not 6"):
                asking()
    assert hf.counter("c").total(400) == 3


def test_redefining_one_option(hf: Holdfast) -> None:
    hits = hf.counter("c", precisions=(10, 100), keep=5, on_conflict="error")
    hits.add()
    hits.redefine(keep=7)
    hits.add()
    assert hf.counter("c").inspect() == CounterState((10, 100), 7)
    hits.redefine(precisions=[1000, 10], op_id="finer")
    hits.redefine(keep=8)
    hits.redefine(precisions=[1000, 10], op_id="finer")
    assert hits.inspect() == CounterState((10, 1000), 8)
    hits.add()
    assert hits.total(2000) == 1  # a new precision begins empty
    hf.counter("c").redefine(keep=9)
    with pytest.raises(DefinitionConflict, match="is 9, not 8"):
        hits.add()
    fresh = hf.counter("d")
    fresh.redefine(keep=9)
    assert fresh.inspect() == CounterState((1, 5, 60, 300, 3600, 18_000, 86_400), 9)
    hf.counter("d").redefine(keep=4)
    fresh.add()  # its own options are still empty
    with pytest.raises(ValueError, match="give precisions, keep or both"):
        hits.redefine()


def test_the_client_that_redefines_knows_the_definition(hf: Holdfast, site: Site) -> None:
    hits = hf.counter("c")
    hits.add()
    hits.redefine(precisions=(1, 60))
    hits.redefine(keep=10)
    for key in site.client.scan_iter(match=f"{site.namespace}:{{counter:c}}:*"):
        site.client.delete(key)
    hits.add()
    assert hf.counter("c").inspect() == CounterState((1, 60), 10)


def test_a_total_after_another_client_redefined(hf: Holdfast) -> None:
    hits, other = hf.counter("c", keep=120), hf.counter("c")
    plain = hf.counter("c")
    hits.add(5)
    assert plain.total(60) == 5
    other.redefine(precisions=(60, 3600))
    other.add(2)
    assert plain.total(60) in {2, 5 + 2}  # a new precision begins empty
    other.redefine(precisions=(3600,))
    assert plain.total(3600) == other.total(3600)


@pytest.mark.parametrize("keep", range(101, 107))
def test_nothing_is_lost_when_keep_changes(hf: Holdfast, keep: int) -> None:
    hits = hf.counter("hits", precisions=(3600, 86_400), keep=100)
    hits.add(5)
    hits.redefine(precisions=(3600, 86_400), keep=keep)
    hits.add(3)
    for precision in (3600, 86_400):
        assert sum(sample.value for sample in hits.samples(precision)) == 8


@pytest.mark.parametrize("precision", [True, 60.0, "60", None])
def test_precisions_that_are_not_ints(hf: Holdfast, precision: Any) -> None:
    with pytest.raises(TypeError, match="precision must be an int"):
        hf.counter("hits").samples(precision)


def test_invalid_windows_and_times(hf: Holdfast) -> None:
    hits = hf.counter("hits")
    for window in (0, -1, math.nan, math.inf):
        with pytest.raises(ValueError, match="window must be"):
            hits.total(window)
        with pytest.raises(ValueError, match="window must be"):
            hits.rate(window)
    for at in (math.nan, math.inf, -1, 1e18):
        with pytest.raises(ValueError, match="at must be"):
            hits.add(at=at)
    for wrong in (True, "now", timedelta(0)):
        with pytest.raises(TypeError, match="at must be epoch seconds or an aware datetime, got"):
            hits.add(at=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidName):
        hf.counter("\ud800")
    assert hf.known_counters() == []


def test_known_counters_are_sorted(hf: Holdfast) -> None:
    for name in ("b", "c", "a"):
        hf.counter(name).add()
    assert hf.known_counters() == ["a", "b", "c"]


def test_an_expired_counter_is_not_listed(hf: Holdfast, site: Site) -> None:
    hf.counter("kept").add()
    hf.counter("gone", precisions=[1], keep=1).add()
    # On a slow machine it has already expired.
    assert hf.counter("gone").inspect() in (CounterState((1,), 1), None)
    while hf.counter("gone").inspect():
        sleep(0.1)
    assert hf.known_counters() == ["kept"]
    names = site.client.zrange(f"{site.namespace}:{{catalog:counter}}:names", 0, -1)
    assert names == [b"kept"]


@pytest.mark.parametrize("method", ["add", "redefine", "buffer"])
def test_an_expired_counter_is_listed_again_after_an_add(
    hf: Holdfast, site: Site, method: str
) -> None:
    gone = hf.counter("gone", precisions=[1], keep=1)
    buffer = hf.counter_buffer(flush_every=3600)
    gone.add()
    while gone.inspect():
        sleep(0.1)
    with Holdfast.from_url(site.url, namespace=site.namespace) as other:
        assert other.known_counters() == []
    if method == "add":
        hf.counter("gone", precisions=[60], keep=2).add()
    elif method == "redefine":
        gone.redefine(precisions=(60,), keep=2)
    else:
        buffer.add("gone")
        buffer.flush()
    assert hf.known_counters() == ["gone"]


def test_all_keys_of_a_counter_expire(hf: Holdfast, site: Site) -> None:
    hf.counter("gone", precisions=(60, 120), keep=2).add()
    prefix = f"{site.namespace}:{{counter:gone}}:*"
    keys = [key for key in site.client.scan_iter(match=prefix) if b"ledger" not in key]
    assert len(keys) == 3
    ends = [site.client.pttl(key) for key in keys]
    assert all(0 < ms <= 480_000 for ms in ends)


def test_the_last_microsecond_of_a_minute_is_in_that_minute(hf: Holdfast) -> None:
    hits = hf.counter("hits")
    begin = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5)
    last = begin + timedelta(minutes=1) - timedelta(microseconds=1)
    hits.add(3, at=last)
    hits.add(4, at=last.timestamp())
    assert hits.samples(60, start=begin, end=last) == [(begin, 7)]
    assert hits.samples(60, start=last, end=begin) == [(begin, 7)]


def test_an_add_in_the_past_does_not_shorten_the_life_of_the_definition(
    hf: Holdfast, site: Site
) -> None:
    hits = hf.counter("past", precisions=[3600], keep=1)
    hits.add()
    definition = f"{site.namespace}:{{counter:past}}:definition"
    ends_ms = site.client.pexpiretime(definition)
    hits.add(at=time.time() - 3600)  # in the previous chunk
    assert site.client.pexpiretime(definition) >= ends_ms
