"""The feed moves to another server while a file is read: by a failover, or with its slot."""

import io
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faults.clusters import Cluster
from faults.fixtures import PATIENT_MS
from faults.sentinels import Watched
from faults.waiting import eventually
from holdfast import Counted, FileFeed, Holdfast, TallyReport
from holdfast.core.names import Namespace
from holdfast.files import keys

NOISE = random.Random(7).randbytes(4 << 20)
LINES = b"".join(b"2011-10-%02d event %d\n" % (10 + n % 7, n) for n in range(200_000))


class Once:
    def __init__(self, action: Callable[[], object]) -> None:
        self.action = action
        self.done = False

    def __call__(self, *_: object) -> None:
        if not self.done:
            self.done = True
            self.action()


def read(feed: FileFeed, name: str, meanwhile: Once) -> dict[str, bytes]:
    """Return what a consumer gets; call *meanwhile* after its first acknowledgement."""
    found: dict[str, bytes] = {}
    for file in feed.consumer(name).files():
        with file:
            found[file.name] = b""
            for block in file.blocks(raw=True):
                found[file.name] += block.data
                file.ack(block.end)
                meanwhile()
    return found


def by_day(line: bytes) -> Counted:
    day, word, _ = line.decode().split()
    return Counted(day, {"word": word})


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    """Start sentinels that never declare a busy primary dead; only the test starts a failover."""
    with Watched(tmp_path, down_after_ms=PATIENT_MS) as watched:
        yield watched


def test_all_goes_on_after_a_failover(watched: Watched) -> None:
    all_at_work, moved = threading.Barrier(3), threading.Event()

    def wait() -> None:
        all_at_work.wait(60)
        assert moved.wait(90)

    def fail_over() -> None:
        all_at_work.wait(60)
        watched.fail_over()
        moved.set()

    with (
        Holdfast.from_url(watched.url, namespace="s") as hf,
        ThreadPoolExecutor(2) as threads,
    ):
        feed, tally = hf.file_feed("logs", consumers=["a", "b"]), hf.tally("daily")
        moves = [Once(wait), Once(wait), Once(fail_over)]
        reading = threads.submit(read, feed, "a", moves[0])

        def committed(report: TallyReport) -> None:
            if report.commits:
                moves[1]()

        counting = threads.submit(
            tally.aggregate, feed.consumer("b"), key=by_day, progress=committed
        )
        feed.publish(io.BytesIO(LINES), name="days.log", compress=None, on_progress=moves[2])
        feed.seal()
        assert reading.result(100) == {"days.log": LINES}
        assert counting.result(100).lines == 200_000
        assert sum(tally.days().values()) == 200_000
        assert tally.top("word", day="2011-10-12") == [("event", tally.total("2011-10-12"))]
        assert all(move.done for move in moves)
        assert feed.status().state == "over"


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    with Cluster(3, "--cluster-node-timeout", "5000") as cluster:  # a busy machine is not dead
        yield cluster


def test_all_goes_along_with_the_slot(own_cluster: Cluster, tmp_path: Path) -> None:
    unit = Namespace.of("moved").unit(keys.KIND, "logs")

    def move() -> None:
        own_cluster.move_slot(unit.slot, own_cluster.other_primary(unit.slot))

    moves = [Once(move) for _ in range(2)]
    with (
        Holdfast.from_url(f"{own_cluster.url}?socket_timeout=60", namespace="moved") as hf,
        ThreadPoolExecutor(3) as threads,
    ):
        feed = hf.file_feed("logs", consumers=["a", "b"])
        feed.publish(io.BytesIO(NOISE), name="first", on_progress=moves[0])
        reading = [threads.submit(read, feed, "a", moves[1]), threads.submit(saved, feed, tmp_path)]
        eventually(lambda: all(c.behind == 0 for c in feed.status().consumers))
        move()  # both wait for the next file
        with own_cluster.moving_slot(unit.slot, own_cluster.other_primary(unit.slot)) as half_way:
            half_way.migrate(limit=1)
            publishing = threads.submit(feed.publish, io.BytesIO(LINES), name="next")
        publishing.result(100)
        feed.seal()
        assert [each.result(100) for each in reading] == [{"first": NOISE, "next": LINES}] * 2
        assert all(move.done for move in moves)


def saved(feed: FileFeed, folder: Path) -> dict[str, bytes]:
    found = {}
    for file in feed.consumer("b").files():
        with file:
            found[file.name] = file.save_to(folder).read_bytes()
    return found
