"""Commits that are repeated, interrupted, or concurrent: each line counts once."""

import asyncio
import gzip
import secrets
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import (
    AsyncHoldfast,
    AsyncLocalFiles,
    Counted,
    GeoKey,
    Holdfast,
    LocalFiles,
    ServerUnavailable,
    Tally,
    TallyReport,
)
from holdfast.tallies import chunks, keys
from holdfast.tallies._sync import aggregation
from holdfast.tallies._sync.writer import COMMIT, SAMPLE, SETTLE, STAGE, TallyWriter
from holdfast.tallies.counted import LineCounts
from tallies.tables import small_table

DAY = "2011-10-10"


def words(line: bytes) -> Counted | None:
    """Count a line for its own text."""
    return None if line == b"bad" else Counted(DAY, {"word": line.decode()})


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_text("".join(f"word {n % 9000}\n" for n in range(20_000)) + "bad\n")
    return path


def counted(tally: Tally) -> dict[str, int]:
    return {each.value: each.lines for each in tally.top("word", day=DAY, limit=10_000)}


EXPECTED = {f"word {n}": 3 if n < 2000 else 2 for n in range(9000)}


def check(tally: Tally) -> None:
    assert counted(tally) == EXPECTED
    assert tally.total(DAY) == 20_000
    assert tally.rejected().lines == 1
    assert tally.rejected().samples == [b"bad"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("script", [STAGE, COMMIT, SETTLE, SAMPLE], ids=lambda script: script.name)
@pytest.mark.parametrize("lose", ["drop_reply", "drop_request"])
def test_a_lost_reply_changes_nothing(
    standalone: Server, proxy: Proxy, log: Path, script: Any, lose: str
) -> None:
    namespace = secrets.token_hex(4)
    with Holdfast.from_url(f"{proxy.url}?socket_timeout=30", namespace=namespace) as hf:
        other = hf.tally("other")  # loads the scripts into the server
        other.aggregate(LocalFiles(log), key=words)
        getattr(proxy, lose)(match=script.sha1.encode())
        tally = hf.tally("words")
        tally.aggregate(LocalFiles(log), key=words)
        check(tally)


class Killed(Exception):
    """Raised in place of a kill."""


def killed(*args: Any) -> NoReturn:
    raise Killed


@pytest.mark.parametrize("step", ["_stage", "_commit", "_settle", "_sample"])
def test_a_kill_between_two_steps_leaves_no_half_commit(
    hf: Holdfast, log: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The next run goes on, or a reader finishes the commit."""
    tally = hf.tally("words")
    with monkeypatch.context() as patch:
        patch.setattr(TallyWriter, step, killed)
        with pytest.raises(Killed):
            tally.aggregate(LocalFiles(log), key=words)
    assert tally.total(DAY) == (0 if step in ("_stage", "_commit") else 20_000)
    tally.aggregate(LocalFiles(log), key=words)
    assert counted(tally) == EXPECTED
    assert tally.rejected().lines == 1


def test_concurrent_readers_finish_a_journal_once(
    hf: Holdfast, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_VALUES", 50)
    tally = hf.tally("words")
    with monkeypatch.context() as patch:
        patch.setattr(TallyWriter, "_settle", killed)
        with pytest.raises(Killed):
            tally.aggregate(LocalFiles(log), key=words)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: tally.total(DAY), range(8))) == {20_000}
    assert counted(tally) == EXPECTED


def test_concurrent_runs_count_a_file_once(
    hf: Holdfast, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slower runs go on where the faster one is."""
    monkeypatch.setattr(aggregation, "COMMIT_VALUES", 1)
    monkeypatch.setattr("holdfast.files._sync.local_files.PIECE", 1 << 17)
    tally = hf.tally("words")
    with ThreadPoolExecutor(4) as pool:
        runs = [
            pool.submit(lambda: hf.tally("words").aggregate(LocalFiles(log), key=words))
            for _ in range(4)
        ]
    assert sum(run.result().lines for run in runs) == 20_001
    check(tally)


@pytest.mark.parametrize("damaged", [False, True])
def test_an_overtaken_run_goes_on_where_the_other_is(
    hf: Holdfast, log: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    monkeypatch.setattr("holdfast.files._sync.local_files.PIECE", 10_000)
    monkeypatch.setattr(aggregation, "COUNT_BYTES", 50_000)
    data = log.read_bytes()
    half = log.parent / "half" / log.name
    half.parent.mkdir()
    half.write_bytes(data[: data.index(b"word 5000")])
    tally, overtaken = hf.tally("words"), False

    def overtake(_: TallyReport) -> None:
        nonlocal overtaken
        if not overtaken:
            overtaken = True
            assert hf.tally("words").aggregate(LocalFiles(half), key=words).lines == 5000

    if damaged:
        log = log.with_name("a.log.gz")
        log.write_bytes(gzip.compress(data) + b"rubbish")
    report = tally.aggregate(LocalFiles(log), key=words, progress=overtake)
    assert (report.lines, report.damaged) == (15_001, damaged)
    check(tally)


def test_the_end_of_a_day_begins_a_commit(
    hf: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of the next day are in the next commit, even if they were read together."""
    monkeypatch.setattr("holdfast.files._sync.local_files.PIECE", 400)
    monkeypatch.setattr(aggregation, "COUNT_BYTES", 200)
    monkeypatch.setattr(aggregation, "DAY_COMMIT_VALUES", 1)
    path = tmp_path / "a.log"
    text = "".join(f"1.0.0.{n} 2011-10-{day} x\n" for day in (10, 11, 12) for n in range(30))
    overlong = "8" * 200_000
    path.write_text(f"{text}{overlong}\n1.0.0.1 2011-10-13 x\n")
    commits, commit = [], TallyWriter.commit

    def noted(self: TallyWriter, file: str, start: int, end: int, counts: LineCounts) -> int | None:
        commits.append(dict(counts.lines))
        return commit(self, file, start, end, counts)

    monkeypatch.setattr(TallyWriter, "commit", noted)
    tally = hf.tally("places")
    report = tally.aggregate(LocalFiles(path), key=GeoKey(small_table(tmp_path)))
    assert (report.lines, report.rejected, report.commits) == (92, 1, len(commits))
    assert tally.days() == {f"2011-10-{day}": 30 for day in (10, 11, 12)} | {"2011-10-13": 1}
    assert tally.rejected().reasons == {"overlong": 1}
    assert commits[0] == {"2011-10-10": 30}
    assert commits[1] == {"2011-10-11": 30}


def test_counts_are_added_to_existing_ones(hf: Holdfast) -> None:
    """There are more values than one command takes, some exist, and sums exceed 32 bits."""
    tally = hf.tally("words")
    first = {f"w{n}": 2**40 + n for n in range(2500)}
    second = {f"w{n}": 2**50 + 1 for n in range(1200, 3700)}
    for n, values in enumerate((first, second)):
        counts = LineCounts(lines={DAY: 1}, values={(DAY, "word"): values})
        assert tally._writer.commit("file", n, n + 1, counts) is None
    assert counted(tally) == added(first, second)


@pytest.mark.parametrize("size", [3, 4, 5, 7, 30])
@pytest.mark.parametrize("existing", [0, 1, 3, 4, 8, 11, 20])
def test_counts_add_up_for_all_chunk_sizes(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch, size: int, existing: int
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_VALUES", size)
    known = {f"w{n}": 5 for n in range(existing)}
    new = {f"w{n}": n + 1 for n in range(6, 22)}
    for name, added_counts in (("one", (known, new)), ("other", (known, new, new))):
        tally = hf.tally(name)
        for n, values in enumerate(added_counts):
            both = {(DAY, "word"): values, (DAY, "more"): values}
            assert tally._writer.commit("file", n, n + 1, LineCounts({DAY: 9}, both)) is None
        assert counted(tally) == added(*added_counts)
        total = sum(added(*added_counts).values())
        dimensions = {"word": total, "more": total}
        assert tally.dimensions(DAY) == dimensions
        assert {each.value: each.lines for each in tally.top("more", day=DAY)}.items() <= added(
            *added_counts
        ).items()


def added(*added_counts: dict[str, int]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for piece in added_counts:
        total.update(piece)
    return dict(total)


async def test_repeated_cancellation_counts_each_line_once(
    hf: Holdfast, standalone: Server, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.files._async.local_files.PIECE", 10_000)
    monkeypatch.setattr("holdfast.tallies._async.aggregation.COUNT_BYTES", 20_000)
    monkeypatch.setattr("holdfast.tallies._async.aggregation.COMMIT_VALUES", 1)
    cancelled = left = 0

    def cancel(_: TallyReport) -> None:
        nonlocal left
        left -= 1
        task = asyncio.current_task()
        if not left and task is not None:
            task.cancel()

    async with AsyncHoldfast.from_url(standalone.url, namespace=hf.namespace) as other:
        tally, files, done = other.tally("words"), AsyncLocalFiles(log), False
        while not done:
            left = 3 + cancelled  # so that the run ends in the end
            counting = asyncio.create_task(tally.aggregate(files, key=words, progress=cancel))
            await asyncio.wait([counting])
            done = not counting.cancelled()
            cancelled += not done
        counting.result()
    assert cancelled > 1
    check(hf.tally("words"))


def test_a_late_commit_returns_the_offset(hf: Holdfast) -> None:
    tally = hf.tally("words")
    writer = tally._writer
    counts = LineCounts(lines={DAY: 5}, values={(DAY, "word"): {"x": 5}})
    assert writer.commit("file", 0, 100, counts) is None
    assert writer.commit("file", 0, 100, counts) == 100
    assert writer.commit("file", 0, 50, counts) == 100
    assert writer.commit("file", 150, 200, counts) == 100
    assert tally.total(DAY) == 5
    assert writer.position("file") == 100
    assert writer.commit("file", 100, 200, counts) is None
    assert tally.total(DAY) == 10


def test_vanished_chunks_are_sent_again(
    hf: Holdfast, standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some attempts it is an error, and nothing is counted."""
    monkeypatch.setattr(chunks, "CHUNK_VALUES", 2)
    tally = hf.tally("words")
    writer, stage = tally._writer, TallyWriter._stage
    to_vanish = 2

    def vanishing(self: TallyWriter, token: str, staged: Any) -> None:
        nonlocal to_vanish
        stage(self, token, staged)
        to_vanish -= 1
        if to_vanish >= 0:
            with standalone.client() as client:
                client.delete(keys.staged(self._unit, token))

    monkeypatch.setattr(TallyWriter, "_stage", vanishing)
    counts = LineCounts(lines={DAY: 9}, values={(DAY, "word"): {f"w{n}": 1 for n in range(9)}})
    assert writer.commit("file", 0, 100, counts) is None
    assert to_vanish == -1
    assert len(counted(tally)) == 9
    to_vanish = 99
    with pytest.raises(ServerUnavailable, match="the server lost the staged counts"):
        writer.commit("file", 100, 200, counts)
    assert tally.total(DAY) == 9
