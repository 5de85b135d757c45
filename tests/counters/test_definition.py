"""Definitions of counters: values, access rights, replicas, and bounded memory."""

import math
import random
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from faults.clock import Clock, needs_faketime
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, OutcomeUnknown, Sample, Samples, ServerUnavailable
from holdfast.counters._sync.counter import checked_count
from holdfast.counters.definition import CounterDefinition, CounterOptions

# Definitions and samples: pure functions


def test_the_stored_text_of_a_definition() -> None:
    definition = CounterOptions.checked([60, 1], 10).applied_to(CounterDefinition())
    assert str(definition) == "1,60 10"
    assert CounterDefinition.parse("1,60 10") == definition


@pytest.mark.parametrize(
    ("precisions", "keep", "problem"),
    [
        ((), 1, "1 to 16 precisions, got 0"),
        (range(1, 18), 1, "1 to 16 precisions, got 17"),
        ((1, 1), 1, "twice"),
        ((0, 1), 1, "1 to 31,622,400 seconds"),
        ((-1,), 1, "1 to 31,622,400 seconds"),
        ((10**9,), 1, "1 to 31,622,400 seconds"),
        ((1,), 0, "1 to 1,000 samples"),
        ((1,), 1001, "1 to 1,000 samples"),
    ],
)
def test_options_out_of_range(precisions: Any, keep: int, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        CounterOptions.checked(precisions, keep)


@pytest.mark.parametrize(
    ("precisions", "keep"), [((1.5,), 1), ((True,), 1), (("1",), 1), ((1,), 2.0)]
)
def test_options_that_are_not_ints(precisions: Any, keep: Any) -> None:
    with pytest.raises(TypeError, match="must be an int"):
        CounterOptions.checked(precisions, keep)


@pytest.mark.parametrize(("window_s", "precision"), [(1, 1), (10, 1), (10.5, 5), (50, 5), (51, 60)])
def test_the_finest_precision_for_a_window(window_s: float, precision: int) -> None:
    assert CounterDefinition((1, 5, 60), 10).finest(window_s) == precision


def test_a_window_that_is_too_long() -> None:
    with pytest.raises(ValueError, match="601 s are more than it keeps, 600 s"):
        CounterDefinition((1, 60), 10).finest(601)


@pytest.mark.parametrize("count", [True, 1.0, math.nan, "1", None])
def test_counts_are_ints(count: Any) -> None:
    with pytest.raises(TypeError, match="count must be an int"):
        checked_count(count)


@pytest.mark.parametrize("count", [2**63, -(2**63)])
def test_counts_have_a_limit(count: int) -> None:
    with pytest.raises(ValueError, match="count must be within"):
        checked_count(count)


@pytest.mark.parametrize(
    ("values", "line"),
    [([], ""), ([0, 0], "▁▁"), ([5], "█"), ([0, 7, 3, 1], "▁█▄▂"), ([-7, 0], "▁█")],
)
def test_a_sparkline(values: list[int], line: str) -> None:
    start = datetime(2026, 11, 22, tzinfo=UTC)
    assert Samples(Sample(start, value) for value in values).sparkline() == line


# Reading writes nothing: it works for a read-only user, and on a replica


def test_a_read_only_user(standalone: Server) -> None:
    namespace = f"read-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        hf.counter("hits").add(3)
        hf.counter("gone", precisions=[1], keep=1).add()
        eventually(lambda: hf.counter("gone").inspect() is None)
    rule = f"resetkeys ~{namespace}:* -@all +@read +@scripting +@connection +time"
    standalone.execute("ACL", "SETUSER", namespace, "on", ">secret", *rule.split())
    url = standalone.url.replace("://", f"://{namespace}:secret@")
    with Holdfast.from_url(url, namespace=namespace) as reader:
        hits = reader.counter("hits")
        assert hits.total(3600) == sum(sample.value for sample in hits.samples(60)) == 3
        assert reader.known_counters() == [
            "hits"
        ]  # only a user who may write removes expired names
        with pytest.raises((OutcomeUnknown, ServerUnavailable), match=r"permission|can't run"):
            hits.add()
        assert hits.total(3600) == 3
    standalone.execute("ACL", "DELUSER", namespace)


def test_a_replica(fresh_server: Server) -> None:
    with Server() as replica, Holdfast.from_url(fresh_server.url) as hf:
        host, port = fresh_server.address
        replica.execute("REPLICAOF", host, port)
        hf.counter("hits").add(3)
        with Holdfast.from_url(f"{replica.url}?socket_timeout=60") as reader:
            eventually(lambda: reader.counter("hits").total(3600) == 3)
            eventually(lambda: reader.known_counters() == ["hits"])
        with (
            Holdfast.from_url(f"{replica.url}?socket_timeout=1") as writer,
            pytest.raises(ServerUnavailable, match="READONLY"),
        ):
            writer.counter("hits").add()


# A year passes on the server's clock with no cleaner running: memory stays bounded

DAY_S = 86_400.0


@needs_faketime
def test_memory_stays_bounded_and_precisions_agree(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    clock = Clock(tmp_path)
    with Server(env=clock.env) as server, Holdfast.from_url(server.url, namespace="year") as hf:
        hits, abandoned = hf.counter("hits"), hf.counter("abandoned")
        abandoned.add()
        sizes = []
        off_s, written = 0.0, 0
        while off_s < 400 * DAY_S:
            off_s += dice.choice([0.5, 3.0, 60.0, 4000.0, 1.5 * DAY_S])
            clock.set(off_s)
            hits.add(1)
            written += 1
            if written % 50 == 0:
                sizes.append(server.execute("MEMORY", "USAGE", "year:{counter:hits}:1:0") or 0)
                assert_precisions_agree(hf)
        with server.client() as client:
            keys = [key.decode() for key in client.scan_iter(match="year:{counter:*")]
            chunks = [key for key in keys if key.endswith((":0", ":1")) and "ledger" not in key]
            fields = sum(map(client.hlen, chunks))
        assert written > 500
        assert len([key for key in keys if "{counter:hits}" in key]) <= 14 + 1 + 2
        assert fields <= 7 * 2 * 120
        assert max(sizes, default=0) < 20_000
        assert not [key for key in keys if "{counter:abandoned}" in key]


def assert_precisions_agree(hf: Holdfast) -> None:
    """Assert that each coarse sample is the sum of its fine samples, where all are kept."""
    hits = hf.counter("hits")
    for fine, coarse in ((1, 5), (5, 60), (60, 300), (300, 3600), (3600, 18_000)):
        finer, coarser = hits.samples(fine), hits.samples(coarse)
        for sample in coarser:
            start = sample.start.timestamp()
            parts = [each for each in finer if start <= each.start.timestamp() < start + coarse]
            if len(parts) == coarse // fine:
                assert sum(each.value for each in parts) == sample.value
