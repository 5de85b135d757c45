# Generated from test_feed_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Feeds, as publishers and consumers see them."""

import gzip
import io
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Site
from holdfast import (
    Block,
    Consumer,
    DamagedFile,
    FeedAborted,
    FeedSealed,
    FileDiffers,
    Holdfast,
    NotDefined,
    StillPublishing,
    UnknownConsumer,
)

NOISE = random.Random(4).randbytes(400_000)
LINES = b"".join(b"line %d\n" % n for n in range(40_000))


def keys(site: Site, name: str = "logs") -> dict[str, int]:
    parts = [
        "meta",
        "names",
        "files",
        "chunks",
        "positions",
        "sessions",
        "consumers",
        "publishing",
        "waiting",
    ]
    every = {part: f"{site.namespace}:{{feed:{name}}}:{part}" for part in parts}
    return {part: site.client.ttl(key) for part, key in every.items() if site.client.exists(key)}


def contents(consumer: Consumer, timeout: float = 0) -> dict[str, bytes]:
    found = {}
    for file in consumer.files(timeout=timeout):
        with file:
            found[file.name] = b"".join([block.data for block in file.blocks(raw=True)])
    return found


def test_every_consumer_gets_every_file(hf: Holdfast, site: Site) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1", "geo-2"])
    sent = {"a.log": LINES, "empty": b"", "b.log": NOISE + b"\n" + LINES}
    for name, data in sent.items():
        published = feed.publish(io.BytesIO(data), name=name)
        assert (published.name, published.size, published.sent) == (name, len(data), True)
    assert hf.file_feeds() == ["logs"]
    for name in ("geo-1", "geo-2"):
        found = {}
        for file in feed.consumer(name).files(timeout=0):
            with file:
                found[file.name] = gathered(file.blocks(raw=True))
                assert (file.position, file.size) == (len(sent[file.name]),) * 2
        assert list(found) == list(sent)
        assert found["a.log"] == LINES
        assert contents(feed.consumer(name)) == {}
    assert {"meta", "names", "positions"} <= set(keys(site))
    feed.seal()
    assert contents(feed.consumer("geo-1"), 10) == {}
    assert set(keys(site)) == {"meta"}
    assert 0 < keys(site)["meta"] <= 3600
    assert (feed.status()).state == "over"


def gathered(blocks: Iterator[Block]) -> bytes:
    return b"".join([block.data for block in blocks])


def test_a_shared_file_goes_to_one(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", mode="share")
    for n in range(4):
        feed.publish(io.BytesIO(b"%d\n" % n), name=str(n))
    seen: list[str] = []
    for one in feed.consumer("a").files(timeout=0):
        with one:
            seen.append(one.name)
            for other in feed.consumer("b").files(timeout=0):
                with other:
                    seen.append(other.name)
                break
    assert sorted(seen) == ["0", "1", "2", "3"]
    feed.seal()
    assert (feed.status()).state == "over"
    assert contents(feed.consumer("c"), 10) == {}


def test_a_file_that_failed_comes_again(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1"])
    feed.publish(io.BytesIO(LINES), name="a.log")
    consumer = feed.consumer("geo-1")

    def fail(lines: int, ack: bool) -> None:
        for file in consumer.files(timeout=0):
            with file:
                for _ in file.lines():
                    lines -= 1
                    if not lines:
                        if ack:
                            file.ack()
                        raise ZeroDivisionError

    for ack in (False, True):
        with pytest.raises(ZeroDivisionError):
            fail(3, ack)
    for file in consumer.files(timeout=0):
        with file:
            assert file.offset == len(b"line 0\nline 1\nline 2\n")
            lines = [line for line in file.lines() if line]
            assert (lines[0], lines[-1]) == (b"line 3", b"line 39999")
            assert file.position == file.size == len(LINES)
    assert contents(consumer) == {}


def test_lines_have_no_ends(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1"])
    data = b"a\r\n\n" + b"x" * 70_000 + b"\nb\0\xff\nlast"
    feed.publish(io.BytesIO(data), name="a.log")
    for file in feed.consumer("geo-1").files(timeout=0):
        with file:
            lines = [len(line) for line in file.lines()]
            assert lines == [1, 0, 3, 4]
            assert file.overlong == 1


def test_blocks_can_begin_at_any_line(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1"])
    data = LINES * 6
    feed.publish(io.BytesIO(data), name="a.log")
    start = data.index(b"\n", 1_000_000) + 1
    for file in feed.consumer("geo-1").files(timeout=0):
        with file:
            blocks = [block for block in file.blocks(start=start) if block]
            assert blocks[0].offset == start
            assert blocks[-1].end == len(data)
            assert b"".join(block.data for block in blocks) == data[start:]
            assert not [block for block in file.blocks(start=len(data)) if block]


def test_what_is_packed_is_unpacked(hf: Holdfast, tmp_path: Path) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1"])
    path = tmp_path / "day.log.gz"
    path.write_bytes(gzip.compress(LINES) + gzip.compress(b"more\n"))
    assert (feed.publish(path)).name == "day.log"
    assert (feed.publish(path, unpack=False)).name == "day.log.gz"
    found = contents(feed.consumer("geo-1"))
    assert found["day.log"] == LINES + b"more\n"
    assert len(found["day.log.gz"]) == path.stat().st_size


def test_a_damaged_file_does_not_end_the_feed(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1"])
    cut = gzip.compress(LINES)[:-9]
    for _ in range(2):
        with pytest.raises(DamagedFile, match=r"'cut' of feed 'logs' is damaged: the gzip file"):
            feed.publish(io.BytesIO(cut), name="cut.gz")
    with pytest.raises(DamagedFile, match="more than 1,000 bytes"):
        feed.publish(io.BytesIO(gzip.compress(LINES)), name="bomb.gz", max_unpacked=1000)
    feed.publish(io.BytesIO(b"good\n"), name="good")
    feed.seal()
    lines: dict[str, int] = {}
    damaged = []
    for file in feed.consumer("geo-1").files():
        try:
            with file:
                lines[file.name] = 0
                for _ in file.lines():
                    lines[file.name] += 1
        except DamagedFile as error:
            damaged.append(error.file)
    assert damaged == ["cut", "bomb"]
    assert lines["cut"] > 30_000
    assert lines["good"] == 1
    assert (feed.status()).state == "over"


def test_publishing_again_changes_nothing(hf: Holdfast) -> None:
    """The same; also when all have read it. Something else of that name is refused."""
    feed = hf.file_feed("logs", consumers=["geo-1"])
    data = LINES * 4
    first = feed.publish(io.BytesIO(data), name="a.log")
    for _ in range(2):
        again = feed.publish(io.BytesIO(data), name="a.log", compress=None)
        assert (again.digest, again.size, again.sent) == (first.digest, len(data), False)
        for other in (data + b"x", data[:-1], b"x" + data[1:], b""):
            with pytest.raises(FileDiffers, match=r"'logs' has a file 'a.log' with other content"):
                feed.publish(io.BytesIO(other), name="a.log")
        contents(feed.consumer("geo-1"))
    assert contents(feed.consumer("geo-1")) == {}


def test_names_are_data(hf: Holdfast, tmp_path: Path) -> None:
    """Any text; and saved, they stay within the folder."""
    feed = hf.file_feed("logs", consumers=["geo-1"])
    names = ["", ":done", "../../up", "/etc/x", "a\0b", "n" * 300, "{x}", "日本", "days/1.log"]
    for name in names:
        feed.publish(io.BytesIO(name.encode()), name=name)
    folder = tmp_path / "in" / "here"
    saved = {}
    for file in feed.consumer("geo-1").files(timeout=0):
        with file:
            saved[file.name] = file.save_to(folder)
    assert list(saved) == names
    for name, path in saved.items():
        assert path.read_bytes() == name.encode()
        assert path.is_relative_to(folder)
    assert len(set(saved.values())) == len(names)
    assert [entry.name for entry in os.scandir(tmp_path)] == ["in"]
    assert [entry.name for entry in os.scandir(tmp_path / "in")] == ["here"]


def test_a_folder_is_published_with_those_within(hf: Holdfast, tmp_path: Path) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1"])
    (tmp_path / "days" / "old").mkdir(parents=True)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to("nowhere")
    sent = {"b.log": b"b\n", "days/1.log": b"1\n", "days/old/0.log": LINES, "empty": b""}
    for name, data in sent.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "bad.gz").write_bytes(b"no gzip")
    result = feed.publish_dir(tmp_path)
    assert {file.name for file in result.files} == set(sent)
    assert result.size == sum(map(len, sent.values()))
    assert {name: type(error) for name, error in result.failed.items()} == {
        "bad.gz": DamagedFile,
        "gone": FileNotFoundError,
    }
    assert all(not file.sent for file in (feed.publish_dir(tmp_path)).files)
    feed.seal()
    found: dict[str, bytes] = {}
    for file in feed.consumer("geo-1").files():
        if file.name != "bad":
            with file:
                found[file.name] = gathered(file.blocks())
        else:
            with pytest.raises(DamagedFile), file:
                gathered(file.blocks())
    assert found == sent
    with pytest.raises(NotADirectoryError, match="not a folder"):
        feed.publish_dir(tmp_path / "b.log")


def test_a_sealed_feed_takes_no_more(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1"])
    feed.publish(io.BytesIO(b"a"), name="a")
    for _ in range(2):
        feed.seal()
    assert not (feed.publish(io.BytesIO(b"a"), name="a")).sent
    with pytest.raises(FeedSealed, match="feed 'logs' is sealed"):
        feed.publish(io.BytesIO(b"b"), name="b")
    assert list(contents(feed.consumer("geo-1"), 10)) == ["a"]
    feed.seal()
    with pytest.raises(FeedSealed):
        feed.publish(io.BytesIO(b"b"), name="b")


def test_an_aborted_feed_is_gone(hf: Holdfast, site: Site) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1"])
    feed.abort()  # there is nothing yet
    feed.publish(io.BytesIO(LINES * 9), name="a")

    def read() -> None:
        for file in feed.consumer("geo-1").files():
            with file:
                feed.abort()
                gathered(file.blocks())

    with pytest.raises(FeedAborted, match="feed 'logs' was aborted"):
        read()
    with pytest.raises(FeedAborted):
        contents(feed.consumer("geo-1"))
    with pytest.raises(FeedAborted):
        feed.publish(io.BytesIO(b"b"), name="b")
    with pytest.raises(FeedAborted):
        feed.seal()
    assert set(keys(site)) == {"meta"}


def test_a_feed_is_sealed_when_its_files_are_whole(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1"])

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 2_000_000:
                raise OSError("the disk broke")
            return super().read(size)

    with pytest.raises(OSError, match="the disk broke"):
        feed.publish(Broken(NOISE * 9), name="a")
    with pytest.raises(StillPublishing, match=r"1 of its files are not published whole: 'a'"):
        feed.seal()
    feed.seal(force=True)
    with pytest.raises(FeedSealed, match="consumers have file 'a' as damaged"):
        feed.publish(io.BytesIO(NOISE * 9), name="a")
    for file in feed.consumer("geo-1").files():
        with pytest.raises(DamagedFile, match="its publisher did not finish it"), file:
            gathered(file.blocks(raw=True))
        assert file.position > 1_000_000
    assert (feed.status()).state == "over"


def test_everything_expires(hf: Holdfast, site: Site) -> None:
    """A day after the last sign of life, also what a consumer left behind."""
    feed = hf.file_feed("logs", consumers=["geo-1", "geo-2"])
    feed.publish(io.BytesIO(LINES), name="a")
    for file in feed.consumer("geo-1").files(timeout=0):
        file.ack(700)
        lives = keys(site)
        assert {"chunks", "sessions", "positions"} <= set(lives)
        assert all(86_000 < seconds <= 86_400 for seconds in lives.values())


def test_wrong_arguments_are_rejected_before_any_io(hf: Holdfast) -> None:
    with pytest.raises(ValueError, match="needs the names of its consumers"):
        hf.file_feed("logs", budget=2**20)
    with pytest.raises(ValueError, match="1,048,576 to"):
        hf.file_feed("logs", consumers=["a"], budget=1)
    with pytest.raises(TypeError, match="budget must be an int"):
        hf.file_feed("logs", consumers=["a"], budget=1e9)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a list of names"):
        hf.file_feed("logs", consumers="geo-1")
    with pytest.raises(TypeError, match="give a path as str or Path, or a file object, got bytes"):
        hf.file_feed("logs", consumers=["a"]).publish(b"a.log")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 100"):
        hf.file_feed("logs", consumers=map(str, range(101)))
    with pytest.raises(ValueError, match="'broadcast' or 'share'"):
        hf.file_feed("logs", mode="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1 s"):
        hf.file_feed("logs", mode="share", lease=0.5)
    feed = hf.file_feed("logs")
    with pytest.raises(ValueError, match="under a name"):
        feed.publish(io.BytesIO(b""))
    with pytest.raises(ValueError, match="'zlib', 'zstd' or None, got 'gzip'"):
        feed.publish(io.BytesIO(b""), name="a", compress="gzip")  # type: ignore[arg-type]
    with pytest.raises(NotDefined, match="the definition of feed 'logs'"):
        feed.publish(io.BytesIO(b""), name="a")
    assert contents(feed.consumer("geo-1")) == {}
    assert (feed.status()).state == "undefined"
    hf.file_feed("logs", consumers=["a"]).publish(io.BytesIO(b""), name="a")
    with pytest.raises(UnknownConsumer, match="'b' is no consumer of feed 'logs'"):
        contents(feed.consumer("b"))


def test_files_that_are_left_are_listed(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["geo-1", "geo-2"])
    assert feed.files() == []
    for name in ("a.log", "b.log", "c.log"):
        feed.publish(io.BytesIO(LINES), name=name)
    contents(feed.consumer("geo-1"))
    for file in feed.consumer("geo-2").files(timeout=0):
        with file:
            gathered(file.blocks(raw=True))
        break
    listed = feed.files()
    assert [(file.number, file.name, file.waits_for) for file in listed] == [
        (3, "c.log", ("geo-2",)),
        (2, "b.log", ("geo-2",)),
    ]
    assert [(file.state, file.bytes, file.problem) for file in listed] == [
        ("whole", len(LINES), ""),
        ("whole", len(LINES), ""),
    ]
    assert [file.name for file in feed.files(limit=1)] == ["c.log"]
    with pytest.raises(ValueError, match="limit must be 1 to 1,000"):
        feed.files(limit=1_001)


def test_files_of_a_shared_feed_wait_for_any_consumer(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", mode="share")
    feed.publish(io.BytesIO(LINES), name="a.log")
    assert [(file.name, file.waits_for) for file in feed.files()] == [("a.log", ())]
