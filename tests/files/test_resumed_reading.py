"""A file that a consumer had read to its end when it was killed, before it settled the file."""

import io
import secrets
from collections.abc import Iterator

import pytest

from faults.servers import Server
from holdfast import Block, Counted, FeedFile, FileFeed, Holdfast

DAY = "2011-10-10"
LINES = b"".join(b"line %d\n" % (n % 7) for n in range(50_000))


class Killed(Exception):
    """The process ended before its last call."""


def count_line(line: bytes) -> Counted:
    return Counted(DAY, {"line": line.decode()})


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


@pytest.fixture
def feed(hf: Holdfast) -> FileFeed:
    feed = hf.file_feed("logs", consumers=None, mode="share")
    feed.publish(io.BytesIO(LINES), name="a.log")
    return feed


def blocks_from(feed: FileFeed, start: int) -> list[Block]:
    [file] = feed.consumer("a").files(timeout=0)
    with file:
        return list(file.blocks(start=start, keep=True))


def test_reading_from_the_end_yields_no_earlier_offset(feed: FileFeed) -> None:
    assert blocks_from(feed, len(LINES)) == []


@pytest.mark.parametrize("kills", [1, 2])
def test_a_tally_does_not_go_back(
    hf: Holdfast, feed: FileFeed, monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    def killed(*_: object) -> None:
        raise Killed

    tally = hf.tally("lines")
    feed.seal()
    for _ in range(kills):
        with monkeypatch.context() as patch:
            patch.setattr(FeedFile, "_finish", killed)
            with pytest.raises(Killed):
                tally.aggregate(feed.consumer("a"), key=count_line)
    report = tally.aggregate(feed.consumer("b"), key=count_line)
    assert (report.lines, report.bytes) == (0, 0)
    assert tally.total(DAY) == 50_000
    assert feed.status().state == "over"
