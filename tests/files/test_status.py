"""The status of a feed: which consumer delays it, and how far each one is."""

import io
import random
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
import redis

from faults.servers import Server
from faults.waiting import eventually
from holdfast import DefinitionConflict, FeedCrowded, FeedSealed, FileFeed, FilesMissed, Holdfast
from holdfast.files._sync.session import END_SESSION
from holdfast.files.chunk import BLOCK
from holdfast.files.options import MIN_BUDGET

NOISE = random.Random(9).randbytes(3 * MIN_BUDGET)
LOOKED_AT = 1_000
"""More files than a script examines in one call."""

WAIT_S = 60


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=f"status-{secrets.token_hex(4)}") as hf:
        yield hf


@pytest.fixture
def client(standalone: Server) -> Iterator[redis.Redis]:
    with standalone.client() as client:
        yield client


def key(hf: Holdfast, part: str) -> str:
    """Return the name of a key of the feed on the server."""
    return f"{hf.namespace}:{{feed:logs}}:{part}"


def read(feed: FileFeed, name: str) -> list[str]:
    """Return the names of the files that a consumer gets."""
    names = []
    for file in feed.consumer(name).files(timeout=0):
        with file:
            names.append(file.name)
    return names


def let_many_pass(hf: Holdfast, client: redis.Redis) -> None:
    client.hincrby(key(hf, "meta"), "top", LOOKED_AT)


def test_another_definition_is_rejected(hf: Holdfast) -> None:
    hf.file_feed("logs", consumers=["a", "b"]).publish(io.BytesIO(b"x"), name="x")
    with pytest.raises(DefinitionConflict, match=r"change it with redefine\(\)") as raised:
        hf.file_feed("logs", consumers=["b", "a"], budget=MIN_BUDGET, on_conflict="error").publish(
            io.BytesIO(), name="y"
        )
    assert "268,435,456 bytes" in str(raised.value.stored)
    assert "1,048,576 bytes" in str(raised.value.given)
    for other in (hf.file_feed("logs", consumers=["a"]), hf.file_feed("logs", mode="share")):
        with pytest.raises(DefinitionConflict, match="use the stored value; it cannot be changed"):
            other.publish(io.BytesIO(), name="y")
    assert hf.file_feed("logs").status().files == 1


def test_a_slow_consumer_is_found_behind_many_files(hf: Holdfast, client: redis.Redis) -> None:
    feed = hf.file_feed("logs", consumers=["quick", "slow"])
    feed.publish(io.BytesIO(b"first"), name="first")
    assert read(feed, "quick") == read(feed, "slow") == ["first"]
    let_many_pass(hf, client)
    feed.publish(io.BytesIO(b"next"), name="next")
    assert read(feed, "quick") == ["next"]
    assert not list(feed.consumer("slow").files(timeout=0))[1:]
    assert feed.status().holders == ("slow",)


def test_a_large_file_goes_on_though_the_first_one_is_held(
    hf: Holdfast, client: redis.Redis, tmp_path: Path
) -> None:
    feed = hf.file_feed("logs", mode="share", budget=MIN_BUDGET)
    feed.publish(io.BytesIO(b"first"), name="first")
    session = feed.consumer("slow").files()
    with next(session), ThreadPoolExecutor(1) as threads:
        let_many_pass(hf, client)
        publishing = threads.submit(feed.publish, io.BytesIO(NOISE), name="large")
        eventually(lambda: feed.status().publishing == 1, WAIT_S)
        with next(iter(feed.consumer("quick").files())) as file:
            assert file.save_to(tmp_path).read_bytes() == NOISE
        assert publishing.result(WAIT_S).size == len(NOISE)


def test_a_consumer_that_left_a_file_early_is_not_behind(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["early", "late"])

    def leave(name: str, size: int) -> None:
        read(feed, "early")

    feed.publish(io.BytesIO(NOISE), name="large", on_progress=leave)
    behind = {each.name: each.behind for each in feed.status().consumers}
    assert behind == {"early": 0, "late": len(NOISE)}


def test_a_publisher_gets_an_error_when_its_feed_was_sealed_and_read(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", mode="share")

    def seal(name: str, size: int) -> None:
        feed.seal(force=True)
        assert read(feed, "one") == ["large"]

    with pytest.raises(FeedSealed):
        feed.publish(io.BytesIO(NOISE), name="large", on_progress=seal)
    assert feed.status().state == "over"


def test_an_acknowledgement_of_more_than_there_is_counts_for_what_there_is(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["one"])
    found = []

    def acknowledge(name: str, size: int) -> None:
        if not found:
            session = feed.consumer("one").files()
            next(session).ack(10**12)
            session.close()
            found.append(size)

    feed.publish(io.BytesIO(NOISE), name="large", on_progress=acknowledge)
    with next(iter(feed.consumer("one").files())) as file:
        assert file.offset == found[0] == 8 * BLOCK
        assert b"".join(block.data for block in file.blocks(raw=True)) == NOISE[file.offset :]


def known(feed: FileFeed, hf: Holdfast, client: redis.Redis, **changes: object) -> dict[str, bytes]:
    """Return records of 999 other consumers: copies of that of `a`, with *changes*."""
    record = msgspec.msgpack.decode(client.hget(key(hf, "consumers"), "a"))
    return {str(n): msgspec.msgpack.encode(record | changes) for n in range(999)}


def test_a_new_consumer_may_read_after_a_thousand_others(hf: Holdfast, client: redis.Redis) -> None:
    """Where names come and go: the dead make room for the living."""
    feed = hf.file_feed("logs", mode="share")
    feed.publish(io.BytesIO(b"first"), name="first")
    assert read(feed, "a") == ["first"]
    feed.publish(io.BytesIO(b"next"), name="next")
    client.hset(key(hf, "consumers"), mapping=known(feed, hf, client))
    with pytest.raises(FeedCrowded, match="as many consumers as a feed may"):
        read(feed, "new")
    assert len(feed.status().consumers) == 1_000
    client.hset(key(hf, "consumers"), mapping=known(feed, hf, client, until_ms=0))
    assert read(feed, "new") == ["next"]
    assert {each.name for each in feed.status().consumers} == {"a", "new"}


def test_two_reports_of_missed_files_in_one_call_hide_no_later_ones(
    hf: Holdfast, client: redis.Redis
) -> None:
    feed = hf.file_feed("logs", consumers=["a"])
    feed.publish(io.BytesIO(b"first"), name="first")
    session = feed.consumer("a").files(timeout=0)
    next(session)
    store = feed._store
    [held] = client.zrange(key(hf, "sessions"), 0, -1)
    missed = known(feed, hf, client, missed=3, unreported=3)["0"]
    client.hset(key(hf, "consumers"), "a", missed)
    epoch = client.hget(key(hf, "meta"), "epoch")
    for _ in range(2):
        store.call(END_SESSION, epoch, held, 2, store.channel)
    with pytest.raises(FilesMissed) as raised:
        read(feed, "a")
    assert raised.value.count == 1
    assert client.ttl(key(hf, "sessions")) != -1
