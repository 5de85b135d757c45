"""Feeds and tallies with values that another program changed: every call ends.

A call fails only with a documented error, not with a `ValueError` of Python. No script keeps the
server busy, and no call takes gigabytes.
"""

import io
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest
import redis

from faults.servers import Server
from holdfast import Counted, DecodeError, Holdfast, HoldfastError, LocalFiles

TEXTS: Final = (
    b"", b"x", b"-1", b"1.5", b"nan", b"inf", b"-inf", b"1e400", b"1e300", b"9" * 400, b"\xff",
    b"9223372036854775808", b"4294967297", b"0x10", b"\xc1", b"0",
)  # fmt: skip
FIELDS: Final = (
    -1,
    1.5,
    math.inf,
    -math.inf,
    math.nan,
    1e300,
    2**40,
    2**63,
    "x",
    b"\xff",
    [],
    None,
)
SCORES: Final = (math.inf, -math.inf, 1e300, 1.5, -1.0)
SAMPLED: Final = 37
"""One of this many damages is tried; with the mark `long`, a few more."""

DAY: Final = "2011-10-10"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("--busy-reply-threshold", "1000") as server:
        yield server


def by_word(line: bytes) -> Counted:
    return Counted(DAY, {"word": line.decode()})


def feed_of(hf: Holdfast, folder: Path) -> None:
    """Publish three files; a consumer has read one of them, and part of the next."""
    feed = hf.file_feed("logs", consumers=["a", "b"])
    for name in ("one", "two", "three"):
        feed.publish(io.BytesIO(b"%b\n" % name.encode() * 100_000), name=name)
    files = feed.consumer("a").files()
    with next(files):
        pass
    next(files).ack(10)


def tally_of(hf: Holdfast, folder: Path) -> None:
    (folder / "a.log").write_bytes(b"one\ntwo\none\n")
    hf.tally("words").aggregate(LocalFiles(folder / "a.log"), key=by_word)


def read(hf: Holdfast, name: str, folder: Path) -> None:
    for file in hf.file_feed("logs").consumer(name).files(timeout=0):
        with file:
            list(file.blocks())
            file.ack()


def save(hf: Holdfast, name: str, folder: Path) -> None:
    for file in hf.file_feed("logs").consumer(name).files(timeout=0):
        with file:
            file.save_to(folder / "saved")


def publish(hf: Holdfast, folder: Path) -> None:
    for name in ("one", "new"):
        hf.file_feed("logs").publish(io.BytesIO(b"1" * 200_000), name=name, timeout=0)


Operation = Callable[[Holdfast, Path], object]

OF_FEED: Final[tuple[Operation, ...]] = (
    lambda hf, _: hf.file_feed("logs").status(),
    lambda hf, _: hf.file_feed("logs").files(limit=1000),
    lambda hf, _: hf.file_feed("logs").files(failed=True),
    lambda hf, _: hf.file_feed("logs").retry(),
    publish,
    lambda hf, folder: read(hf, "a", folder),
    lambda hf, folder: save(hf, "b", folder),
    lambda hf, _: hf.file_feed("logs").redefine(budget=2**21),
    lambda hf, _: hf.file_feed("logs").seal(force=True),
    lambda hf, _: hf.file_feed("logs").abort(),
)
OF_TALLY: Final[tuple[Operation, ...]] = (
    lambda hf, _: hf.tally("words").total(DAY),
    lambda hf, _: hf.tally("words").days(),
    lambda hf, _: hf.tally("words").dimensions(DAY),
    lambda hf, _: hf.tally("words").top("word", day=DAY),
    lambda hf, _: hf.tally("words").count("word", "one", day=DAY),
    lambda hf, _: hf.tally("words").compare(DAY, "2011-10-11", dimension="word"),
    lambda hf, _: hf.tally("words").rejected(),
    lambda hf, folder: hf.tally("words").aggregate(LocalFiles(folder / "a.log"), key=by_word),
)


def damages(client: redis.Redis, key: bytes) -> Iterator[Callable[[], object]]:
    kind = client.type(key)
    if kind == b"string":
        yield from (lambda text=text: client.set(key, text) for text in TEXTS)
        yield from (lambda text=text: client.set(key, text + b" abc") for text in TEXTS)
    elif kind == b"hash":
        for field, value in sorted(client.hgetall(key).items())[:12]:
            changed = [*TEXTS, *fields_of(value)]
            yield from (lambda f=field, c=each: client.hset(key, f, c) for each in changed)
            yield lambda f=field: client.hdel(key, f)
    elif kind == b"zset":
        [member] = client.zrange(key, 0, 0)
        yield from (lambda score=score: client.zadd(key, {member: score}) for score in SCORES)
    for put in (client.lpush, client.sadd):
        yield lambda put=put: (client.delete(key), put(key, "x"))


def fields_of(value: bytes) -> Iterator[bytes]:
    """Yield the MessagePack *value* with one field changed."""
    try:
        fields = msgspec.msgpack.decode(value)
    except msgspec.DecodeError:
        return
    if isinstance(fields, dict):
        for name in fields:
            for each in FIELDS:
                yield msgspec.msgpack.encode(fields | {name: each})


def chosen(
    client: redis.Redis, keys: list[bytes], sample: int
) -> Iterator[tuple[bytes, int, Callable[[], object]]]:
    every = [(key, damage) for key in keys for damage in damages(client, key)]
    for n, (key, damage) in enumerate(every):
        if n % SAMPLED == sample:
            yield key, n, damage


@pytest.fixture(
    params=[0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, SAMPLED, 4))]
)
def sample(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize(
    ("build", "operations"), [(feed_of, OF_FEED), (tally_of, OF_TALLY)], ids=["feed", "tally"]
)
def test_every_call_ends_by_an_answer_or_an_error_of_ours(
    server: Server,
    tmp_path: Path,
    build: Operation,
    operations: tuple[Operation, ...],
    sample: int,
) -> None:
    client = server.shared_client
    client.flushall()
    with Holdfast.from_url(f"{server.url}?socket_timeout=20", namespace="damaged") as hf:
        build(hf, tmp_path)
    kept = {
        key: client.dump(key) for key in client.scan_iter("damaged:{*") if b":ledger:" not in key
    }
    wrong: list[str] = []
    with Holdfast.from_url(f"{server.url}?socket_timeout=20", namespace="damaged") as hf:
        for key, n, damage in chosen(client, sorted(kept), sample):
            for i, operation in enumerate(operations):
                with client.pipeline() as pipe:  # what was done before may still be noted
                    pipe.flushall()
                    for name, dumped in kept.items():
                        pipe.restore(name, 0, dumped)
                    pipe.execute()
                damage()
                try:
                    operation(hf, tmp_path)
                except HoldfastError as error:
                    unnamed = isinstance(error, DecodeError) and key.decode() not in str(error)
                    found_by_server = "WRONGTYPE" in str(error) or "holdfast fsck" in str(error)
                    if "BUSY" in str(error) or (unnamed and not found_by_server):
                        wrong.append(f"{key!r} {n} {i}: {error}")
                except Exception as error:  # noqa: BLE001  (that is what is looked for)
                    wrong.append(f"{key!r} {n} {i}: {error!r}")
                client.ping()
    assert not wrong


@pytest.mark.parametrize("field", ["used", "top", "low", "left", "epoch", "definition"])
@pytest.mark.parametrize("value", [b"1e400", b"-1", b"x"])
def test_a_damaged_feed_is_a_decode_error(
    server: Server, tmp_path: Path, field: str, value: bytes
) -> None:
    server.shared_client.flushall()
    with Holdfast.from_url(server.url, namespace="damaged") as hf:
        feed_of(hf, tmp_path)
        server.shared_client.hset("damaged:{feed:logs}:meta", field, value)
        feed = hf.file_feed("logs")
        for read_it in (feed.status, feed.files, lambda: next(feed.consumer("a").files())):
            with pytest.raises(DecodeError, match=r"damaged:\{feed:logs\}:meta"):
                read_it()


@pytest.mark.parametrize("value", [b"x", b"-1 abc", b"1e400 abc", b"9" * 30 + b" abc", b"1", b""])
def test_a_damaged_position_is_a_decode_error(server: Server, tmp_path: Path, value: bytes) -> None:
    server.shared_client.flushall()
    with Holdfast.from_url(server.url, namespace="damaged") as hf:
        tally_of(hf, tmp_path)
        [key] = server.shared_client.scan_iter("damaged:{tally:words}:file:*")
        server.shared_client.set(key, value)
        with pytest.raises(DecodeError, match=f"{re.escape(key.decode())} cannot be decoded"):
            tally_of(hf, tmp_path)
        assert hf.tally("words").total(DAY) == 3
