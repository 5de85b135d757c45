"""Feeds after other programs changed or deleted their keys."""

import io
import random
import secrets
from collections.abc import Iterator

import pytest
import redis

from faults.servers import Server
from holdfast import DamagedFile, FeedCrowded, FeedLost, FileFeed, Holdfast
from holdfast.files.chunk import BLOCK, EMPTY, ChunkPacker

DATA = random.Random(6).randbytes(12 * BLOCK)


@pytest.fixture
def client(standalone: Server) -> Iterator[redis.Redis]:
    with standalone.client() as client:
        yield client


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    namespace = f"trouble-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


@pytest.fixture
def feed(hf: Holdfast) -> FileFeed:
    """Return a feed with two files."""
    feed = hf.file_feed("logs", consumers=["a"])
    feed.publish(io.BytesIO(DATA), name="first")
    feed.publish(io.BytesIO(b"next\n"), name="next")
    return feed


def key(hf: Holdfast, part: str) -> str:
    """Return the name of a key of the feed on the server."""
    return f"{hf.namespace}:{{feed:logs}}:{part}"


def other_chunk() -> bytes:
    """Return a valid chunk of another file."""
    packed = ChunkPacker(None).pack(b"x" * BLOCK)
    return packed.chunk(packed.digest(EMPTY))


def read(feed: FileFeed) -> tuple[dict[str, int], dict[str, str]]:
    """Return how many bytes of each file were read, and the problems of damaged files."""
    sizes, problems = {}, {}
    for file in feed.consumer("a").files(timeout=0):
        try:
            with file:
                for block in file.blocks(raw=True):
                    sizes[file.name] = block.end
        except DamagedFile as error:
            problems[file.name] = error.problem
    return sizes, problems


@pytest.mark.parametrize("index", [0, 7, 8, 11])
@pytest.mark.parametrize(
    ("chunk", "problem"),
    [
        (None, "it is missing on the server"),
        (b"", "too few for a chunk"),
        (other_chunk(), "does not follow the one before"),
        (other_chunk()[:-1] + b"y", "its checksum is wrong"),
    ],
)
def test_a_chunk_that_was_changed_is_noticed(
    hf: Holdfast, feed: FileFeed, client: redis.Redis, index: int, chunk: bytes | None, problem: str
) -> None:
    if chunk is None:
        client.hdel(key(hf, "chunks"), f"1:{index}")
    else:
        client.hset(key(hf, "chunks"), f"1:{index}", chunk)
    sizes, problems = read(feed)
    assert problems == {"first": f"chunk {index}: {problem}"} or problem in problems["first"]
    assert sizes["next"] == 5
    assert sizes.get("first", 0) <= index * BLOCK
    assert feed.status().consumers[0].damaged == 1
    assert read(feed) == ({}, {})


def test_chunks_that_changed_their_places_are_noticed(
    hf: Holdfast, feed: FileFeed, client: redis.Redis
) -> None:
    chunks = key(hf, "chunks")
    one, other = client.hmget(chunks, "1:3", "1:4")
    client.hset(chunks, mapping={"1:3": other, "1:4": one})
    assert read(feed)[1] == {"first": "chunk 3 does not follow the one before"}


def test_a_consumer_gets_an_error_when_the_server_lost_the_feed(
    hf: Holdfast, feed: FileFeed, client: redis.Redis
) -> None:
    files = feed.consumer("a").files()
    file = next(files)
    client.delete(*client.scan_iter(f"{hf.namespace}:*"))
    with pytest.raises(FeedLost, match=r"feed 'logs' is not the one that was begun"), file:
        list(file.blocks())
    feed.publish(io.BytesIO(b"anew"), name="first")
    with pytest.raises(FeedLost):
        next(files)
    assert read(feed) == ({"first": 4}, {})


def test_a_publisher_gets_an_error_when_the_server_lost_the_feed(
    hf: Holdfast, client: redis.Redis
) -> None:
    feed = hf.file_feed("logs", consumers=["a"])

    def forget(name: str, size: int) -> None:
        client.delete(*client.scan_iter(f"{hf.namespace}:*"))

    with pytest.raises(FeedLost):
        feed.publish(io.BytesIO(DATA), name="first", on_progress=forget)


def test_a_feed_takes_so_many_files_and_no_more(
    hf: Holdfast, feed: FileFeed, client: redis.Redis
) -> None:
    with client.pipeline() as pipe:
        for n in range(100):
            pipe.hset(key(hf, "names"), mapping={f"{n}-{i}": b"" for i in range(1000)})
        pipe.execute()
    with pytest.raises(FeedCrowded, match="as many files as a feed may"):
        feed.publish(io.BytesIO(b""), name="one more")


def test_progress_is_reported(hf: Holdfast) -> None:
    progress: list[tuple[str, int]] = []
    feed = hf.file_feed("logs", consumers=["a"])
    feed.publish(io.BytesIO(DATA), name="x", on_progress=lambda *args: progress.append(args))
    assert progress == [("x", 8 * BLOCK), ("x", 12 * BLOCK)]
    feed.publish(io.BytesIO(DATA), name="x", on_progress=lambda *args: progress.append(args))
    assert progress[2:] == [("x", 12 * BLOCK)]
