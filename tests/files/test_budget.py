"""The budget of a feed: how long a publisher waits for consumers, and what it drops then."""

import io
import random
import secrets
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from faults.servers import Server
from faults.waiting import eventually
from files.faults.memory import memory
from holdfast import (
    BudgetExceeded,
    DamagedFile,
    FeedAborted,
    FileDiffers,
    FileFeed,
    FilesMissed,
    FileTaken,
    Holdfast,
)
from holdfast.files.options import MIN_BUDGET

WINDOW = 8 * 2**17
"""Bytes of 8 chunks."""

NOISE = random.Random(5).randbytes(4 * MIN_BUDGET)
"""Bytes that compression does not make smaller."""


@pytest.fixture
def namespace() -> str:
    return f"budget-{secrets.token_hex(4)}"


@pytest.fixture
def hf(standalone: Server, namespace: str) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


@pytest.fixture
def threads(hf: Holdfast) -> Iterator[ThreadPoolExecutor]:
    """Close the client at the end, so that threads end that a failed test leaves waiting."""
    with ThreadPoolExecutor(12) as threads:
        yield threads
        hf.close()


def taken(feed: FileFeed, name: str) -> dict[str, bytes]:
    """Read and acknowledge all files until the feed is over; skip damaged files."""
    found: dict[str, bytes] = {}
    for file in feed.consumer(name).files():
        with suppress(DamagedFile), file:
            data = b""
            for block in file.blocks(raw=True):
                data += block.data
                file.ack(block.end)
            found[file.name] = data
    return found


def test_a_file_may_be_larger_than_the_budget(
    hf: Holdfast,
    standalone: Server,
    namespace: str,
    threads: ThreadPoolExecutor,
    tmp_path: Path,
) -> None:
    feed = hf.file_feed("logs", consumers=["a", "b"], budget=MIN_BUDGET)
    peak, over = [0], threading.Event()

    def watch() -> None:
        with standalone.client() as client:
            while not over.is_set():
                peak[0] = max(peak[0], memory(client, namespace))

    def save() -> bytes:
        for file in feed.consumer("b").files():
            with file:
                path = file.save_to(tmp_path)
        return path.read_bytes()

    watching = threads.submit(watch)
    reading = threads.submit(taken, feed, "a"), threads.submit(save)
    feed.publish(io.BytesIO(NOISE), name="a.bin")
    feed.seal()
    assert reading[0].result() == {"a.bin": NOISE}
    assert reading[1].result() == NOISE
    over.set()
    watching.result()
    assert MIN_BUDGET / 2 < peak[0] <= MIN_BUDGET + WINDOW
    assert memory(standalone.client(), namespace) < 2000


def test_the_error_of_a_full_budget_names_the_slow_consumers(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["quick", "slow"], budget=MIN_BUDGET)
    with pytest.raises(
        BudgetExceeded, match=r"used up for 0.1 s.* 'quick', 'slow' did not"
    ) as raised:
        feed.publish(io.BytesIO(NOISE), name="big", timeout=0.1)
    assert (raised.value.file, raised.value.holders) == ("big", ("quick", "slow"))
    quick = feed.consumer("quick")
    file = next(iter(quick.files()))
    for block in file.blocks(raw=True):
        file.ack(block.end)
        if block.end > MIN_BUDGET // 2:
            break
    with pytest.raises(BudgetExceeded) as raised:
        feed.publish(io.BytesIO(NOISE), name="big", timeout=0)
    assert raised.value.holders == ("slow",)
    status = feed.status()
    assert status.holders == ("slow",)
    assert MIN_BUDGET - 2**17 < status.used <= MIN_BUDGET
    assert [(c.name, c.alive, c.bytes > 0) for c in status.consumers] == [
        ("quick", True, True),
        ("slow", True, False),
    ]
    with pytest.raises(FileDiffers):
        feed.publish(io.BytesIO(b"x" + NOISE[1:]), name="big", timeout=0)
    with pytest.raises(BudgetExceeded, match="'other'"):
        feed.publish(io.BytesIO(NOISE), name="other", timeout=0)


def test_bytes_are_kept_until_the_last_of_ten_has_them(hf: Holdfast) -> None:
    """The textbook compared their number as text, so 2 were enough for 10."""
    names = [f"c{n}" for n in range(10)]
    feed = hf.file_feed("logs", consumers=names, budget=MIN_BUDGET)
    feed.publish(io.BytesIO(NOISE[:700_000]), name="a")
    for name in names[:9]:
        assert list(taken_now(feed, name)) == ["a"]
        with pytest.raises(BudgetExceeded):
            feed.publish(io.BytesIO(NOISE[:700_000]), name="b", timeout=0)
    assert feed.status().holders == ("c9",)
    assert taken_now(feed, "c9") == {"a": NOISE[:700_000]}
    feed.publish(io.BytesIO(NOISE[:700_000]), name="b", timeout=0)


def taken_now(feed: FileFeed, name: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for file in feed.consumer(name).files(timeout=0):
        if file.size is None:
            break
        with file:
            found[file.name] = b"".join(block.data for block in file.blocks(raw=True))
    return found


def test_an_absent_consumer_does_not_delay_the_others(
    hf: Holdfast, threads: ThreadPoolExecutor
) -> None:
    names = [f"c{n}" for n in range(10)]
    feed = hf.file_feed("logs", consumers=names, budget=MIN_BUDGET, lease=4.0)
    sent = {str(n): NOISE[n : n + 700_000] for n in range(6)}
    reading = [threads.submit(taken, feed, name) for name in names[1:]]
    for name, data in sent.items():
        feed.publish(io.BytesIO(data), name=name)
    eventually(lambda: all(c.behind == 0 for c in feed.status().consumers[1:]))
    with pytest.raises(FilesMissed, match=r"'c0' of feed 'logs' missed \d files") as raised:
        taken(feed, "c0")
    assert 0 < raised.value.count < 6
    late = threads.submit(taken, feed, "c0")
    feed.seal()
    for each in reading:
        assert each.result() == sent
    found = late.result()
    assert 4 <= len(found) + raised.value.count <= 6  # of some the beginning was dropped
    assert found.items() <= sent.items()
    assert feed.status().state == "over"


def test_nothing_is_dropped_while_no_consumer_reads(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET, lease=1.0)
    with pytest.raises(BudgetExceeded):
        feed.publish(io.BytesIO(NOISE), name="a", timeout=2.5)
    file = next(iter(feed.consumer("a").files()))
    first = next(iter(file.blocks(raw=True)))
    assert first.data == NOISE[: first.end]


def test_a_file_of_a_dead_consumer_goes_to_another(hf: Holdfast, standalone: Server) -> None:
    feed = hf.file_feed("logs", mode="share", lease=2.0)
    feed.publish(io.BytesIO(b"a\nb\n"), name="a")
    with Holdfast.from_url(standalone.url, namespace=hf.namespace) as gone:
        file = next(iter(gone.file_feed("logs").consumer("one").files()))
        file.ack(2)
        assert not list(feed.consumer("two").files(timeout=0))
        gone._resources.renewer.close()  # as if it were stopped
        with next(iter(feed.consumer("two").files())) as again:
            assert (again.id, again.offset) == (file.id, 2)
            assert list(again.lines()) == [b"b"]
            with pytest.raises(
                FileTaken, match=r"file 'a' of feed 'logs' is not held here any more"
            ):
                file.ack(4)
        with pytest.raises(FileTaken), file:
            pass
    assert feed.status().left == 0


def test_a_session_that_ends_gives_back_what_it_holds(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["a"])
    feed.publish(io.BytesIO(b"a\n"), name="a")
    for _ in range(3):
        session = feed.consumer("a").files(timeout=0)
        assert next(session).name == "a"
        session.close()


def test_a_silent_session_lives_on_if_no_consumer_wants_its_file(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["a"], lease=1.0)
    feed.publish(io.BytesIO(b"a\n"), name="a")
    session = feed.consumer("a").files(timeout=0)
    with next(session) as file:
        hf._resources.renewer.close()
        eventually(lambda: not feed.status().consumers[0].alive)
        assert list(file.lines()) == [b"a"]
        file.ack()
        assert feed.status().consumers[0].alive
    assert not list(session)


def test_what_was_read_of_a_large_file_may_be_gone(
    hf: Holdfast, threads: ThreadPoolExecutor
) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    publishing = threads.submit(feed.publish, io.BytesIO(NOISE), name="big")
    consumer = feed.consumer("a")
    with pytest.raises(ZeroDivisionError), next(iter(consumer.files())) as file:
        [1 // (block.end < 2 * MIN_BUDGET) for block in file.blocks(raw=True)]
    with (
        pytest.raises(DamagedFile, match=r"its first [\d,]+ bytes were dropped"),
        next(iter(consumer.files())) as again,
    ):
        list(again.blocks())
    publishing.result()
    feed.publish(io.BytesIO(b"next"), name="next")
    feed.seal()
    assert taken(feed, "a") == {"next": b"next"}
    assert feed.status().state == "over"


def test_a_consumer_that_acknowledges_blocks_can_always_begin_again(
    hf: Holdfast, threads: ThreadPoolExecutor
) -> None:
    """The line that goes on in the next window is kept, however much its room is wanted."""
    data = NOISE.replace(b"\n", b".").replace(b"\x07", b"\n")
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    publishing = threads.submit(feed.publish, io.BytesIO(data), name="big")
    found = b""
    while len(found) < len(data):
        with suppress(ZeroDivisionError), next(iter(feed.consumer("a").files())) as file:
            assert file.offset == len(found)
            for n, block in enumerate(file.blocks()):
                if n == 2:  # the window after the next was asked for
                    raise ZeroDivisionError
                found += block.data
                file.ack(block.end)
                with suppress(BudgetExceeded):  # which makes room, if it can
                    feed.publish(io.BytesIO(NOISE), name="other", timeout=0)
    assert found == data
    assert publishing.result().size == len(data)


def test_a_later_publisher_leaves_room_to_the_file_that_is_read(
    hf: Holdfast, threads: ThreadPoolExecutor
) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    with pytest.raises(BudgetExceeded):
        feed.publish(io.BytesIO(NOISE), name="big", timeout=0)
    with next(iter(feed.consumer("a").files())) as file:
        blocks = file.blocks(raw=True)
        while feed.status().used > MIN_BUDGET // 4:
            file.ack(next(blocks).end)
        for later in ("later", "last"):
            with pytest.raises(BudgetExceeded):
                feed.publish(io.BytesIO(NOISE), name=later, timeout=0)
        assert feed.status().used < MIN_BUDGET // 2
        publishing = threads.submit(feed.publish, io.BytesIO(NOISE), name="big")
        for block in blocks:
            file.ack(block.end)
    assert publishing.result().size == len(NOISE)
    publishing = threads.submit(feed.publish, io.BytesIO(NOISE), name="later")
    with next(iter(feed.consumer("a").files())) as file:
        for block in file.blocks(raw=True):
            file.ack(block.end)
    assert publishing.result().size == len(NOISE)


def test_a_line_may_be_longer_than_the_budget(hf: Holdfast, threads: ThreadPoolExecutor) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    data = b"a\n" + NOISE.replace(b"\n", b".") + b"\nb\n"
    publishing = threads.submit(feed.publish, io.BytesIO(data), name="big")
    with next(iter(feed.consumer("a").files())) as file:
        assert list(file.lines()) == [b"a", b"b"]
        assert file.overlong == 1
    assert publishing.result().size == len(data)


def test_small_files_are_kept_until_they_are_done_with(hf: Holdfast) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    for name in ("a", "b"):
        feed.publish(io.BytesIO(NOISE[:450_000]), name=name)
    consumer = feed.consumer("a")
    for _ in range(3):
        with suppress(ZeroDivisionError), next(iter(consumer.files())) as file:
            assert file.name == "a"
            data = b"".join(block.data for block in file.blocks(raw=True))
            assert data == NOISE[:450_000]
            with pytest.raises(BudgetExceeded):
                feed.publish(io.BytesIO(NOISE), name="c", timeout=0)
            raise ZeroDivisionError


def test_a_repeated_publish_finds_the_room_that_was_made(
    hf: Holdfast, threads: ThreadPoolExecutor, tmp_path: Path
) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    session = feed.consumer("a").files()
    saving = threads.submit(lambda: next(session).save_to(tmp_path).read_bytes())
    try:
        for _ in range(3):  # killed, and started again after more than a window
            with suppress(BudgetExceeded):
                feed.publish(io.BytesIO(NOISE), name="big", timeout=0)
            eventually(lambda: saving.done() or feed.status().consumers[0].behind == 0)
            assert hf.audit().damages == ()
        feed.publish(io.BytesIO(NOISE), name="big", timeout=60)
        assert saving.result() == NOISE
    finally:
        session.close()
        feed.abort()  # otherwise a consumer could wait forever for the rest of the file


def test_an_unread_end_is_no_reason_to_wait(hf: Holdfast, threads: ThreadPoolExecutor) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    publishing = threads.submit(feed.publish, io.BytesIO(NOISE), name="big")
    with next(iter(feed.consumer("a").files())):
        pass
    assert publishing.result().size == len(NOISE)
    feed.seal()
    assert feed.status().state == "over"


def test_a_waiting_publisher_gets_an_error_when_the_feed_is_aborted(
    hf: Holdfast, threads: ThreadPoolExecutor
) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    publishing = threads.submit(feed.publish, io.BytesIO(NOISE), name="big")
    eventually(lambda: feed.status().used > MIN_BUDGET - 2**18)
    feed.abort()
    with pytest.raises(FeedAborted):
        publishing.result()


def test_a_larger_budget_lets_a_publisher_go_on(hf: Holdfast, threads: ThreadPoolExecutor) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    feed.publish(io.BytesIO(b""), name="empty")
    publishing = threads.submit(hf.file_feed("logs").publish, io.BytesIO(NOISE), name="big")
    eventually(lambda: feed.status().used > MIN_BUDGET - 2**18)
    feed.redefine(budget=8 * MIN_BUDGET, lease=60.0)
    publishing.result()
    feed.seal()
    assert feed.status().budget == 8 * MIN_BUDGET
    assert taken(feed, "a") == {"empty": b"", "big": NOISE}


def test_two_may_publish_the_same(hf: Holdfast, threads: ThreadPoolExecutor) -> None:
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    publishing = [
        threads.submit(feed.publish, io.BytesIO(NOISE), name="big", compress=codec)
        for codec in (None, "zlib", "zstd")
    ]
    reading = threads.submit(taken, feed, "a")
    assert len({each.result().digest for each in publishing}) == 1
    feed.seal()
    assert reading.result() == {"big": NOISE}


def test_many_share_many_files(hf: Holdfast, threads: ThreadPoolExecutor) -> None:
    feed = hf.file_feed("logs", mode="share", budget=MIN_BUDGET)
    reading = [threads.submit(taken, feed, f"c{n}") for n in range(4)]
    sent = {f"{n}.log": b"line of %d\n" % n * (n * 100) for n in range(150)}
    for name, data in sent.items():
        feed.publish(io.BytesIO(data), name=name)
    feed.seal()
    found = [each.result() for each in reading]
    assert sum(map(len, found)) == len(sent)
    assert {name: data for each in found for name, data in each.items()} == sent


@pytest.mark.long
@pytest.mark.timeout(600)
def test_five_thousand_small_files(
    hf: Holdfast, standalone: Server, namespace: str, threads: ThreadPoolExecutor
) -> None:
    names = [f"c{n}" for n in range(10)]
    feed = hf.file_feed("logs", consumers=names, budget=2 * MIN_BUDGET, lease=10.0)
    sent = {f"{n % 7}/{n}.log": b"line of %d\n" % n * (n % 90) for n in range(5_000)}
    reading = [threads.submit(taken, feed, name) for name in names[1:]]
    peak = 0
    with standalone.client() as client:
        for n, (name, data) in enumerate(sent.items()):
            feed.publish(io.BytesIO(data), name=name)
            if n % 100 == 0:
                peak = max(peak, memory(client, namespace))
    feed.seal()
    for each in reading:
        assert each.result() == sent
    assert peak <= 2 * MIN_BUDGET + WINDOW
