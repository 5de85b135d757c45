"""Test `holdfast logs tally` and `top`: count folders and feeds, and show the counts."""

from __future__ import annotations

import gzip
import io
import secrets
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from cli.filled_queue import HOSTILE, VISIBLE, Run, rows
from cli.programs import CTRL_C, on_terminal
from faults.servers import Server
from holdfast import (
    ConsumerStatus,
    Counted,
    FeedStatus,
    GeoKey,
    GeoTable,
    Holdfast,
    LocalFiles,
)
from holdfast.cli.logs import counting
from holdfast.cli.logs.progress import progress_of
from tallies.tables import write_csv, write_mmdb

LOG = (
    b"173.194.38.137 2011-10-10 13:55:36 x\n" * 3
    + b"1.0.0.1 2011-10-10 13:55:36 x\n"
    + b"nonsense\n"
    + b"217.0.0.1 2011-10-09 13:55:36 x\n"
)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a folder with a log, and a packed log in a folder within it."""
    folder = tmp_path / "logs"
    (folder / "old").mkdir(parents=True)
    (folder / "a.log").write_bytes(LOG)
    (folder / "old" / "b.log.gz").write_bytes(gzip.compress(LOG))
    return folder


def test_a_folder_is_counted_once(run: Run, hf: Holdfast, logs: Path, tmp_path: Path) -> None:
    """Count each line once on any number of cores; a second run adds nothing."""
    table = str(write_mmdb(tmp_path / "places.mmdb"))
    result = run("logs", "tally", "daily", "--from", str(logs), "--geo", table)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"tally 'daily': 12 lines of 2 files, {2 * len(LOG)} B",
        "2 lines rejected",
    ]
    (row,) = rows(run("logs", "tally", "daily", "--from", str(logs), "--geo", table, "--json"))
    assert (row["tally"], row["files"], row["lines"]) == ("daily", 2, 0)
    assert hf.tally("daily").days() == {"2011-10-09": 2, "2011-10-10": 8}


def test_a_log_that_is_written_is_counted_line_by_line(
    run: Run, hf: Holdfast, logs: Path, tmp_path: Path
) -> None:
    """Count its last line as soon as that has a line end."""
    words = ["--from", str(logs), "--geo", str(write_mmdb(tmp_path / "places.mmdb")), "--growing"]
    for more, lines in ((b"1.0.0.1 2011", 12), (b"-10-10 13:55:36 x\n", 1), (b"", 0)):
        with (logs / "a.log").open("ab") as log:
            log.write(more)
        (row,) = rows(run("logs", "tally", "daily", *words, "--json"))
        assert row["lines"] == lines
    assert hf.tally("daily").total("2011-10-10") == 9


def test_a_feed_is_counted(run: Run, hf: Holdfast, logs: Path, tmp_path: Path) -> None:
    """Count as one of its consumers, here with a table of CSV files."""
    (logs / "c.log").write_bytes(b"2001:4860::1 2011-10-10 13:55:36 x\n")
    feed = hf.file_feed("f", consumers=["geo"])
    feed.publish_dir(logs)
    feed.seal()
    blocks, locations = write_csv(tmp_path)
    options = ["--feed", "f", "--consumer", "geo", "--locations", str(locations)]
    for of_one_kind in blocks:  # IPv4, and IPv6
        options += ["--geo", str(of_one_kind)]
    result = run("logs", "tally", "daily", *options)
    assert result.exit_code == 0, result.output
    assert hf.tally("daily").total("2011-10-10") == 9
    assert hf.tally("daily").count("country", "US", day="2011-10-10") == 7


def test_a_terminal_shows_how_far_it_is(
    standalone: Server, logs: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Show bytes, lines a second, and the slowest consumer."""
    table, namespace = str(write_mmdb(tmp_path / "places.mmdb")), request.node.name
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        feed = hf.file_feed("f", consumers=["quick", "slow"])
        feed.publish_dir(logs)
        feed.seal()
        with next(iter(feed.consumer("quick").files())):
            pass
    words = ["--feed", "f", "--consumer", "quick", "--geo", table]
    code, shown = on_terminal(
        *("logs", "tally", "daily", *words), HOLDFAST_URL=standalone.url, NO_COLOR="1",
        HOLDFAST_NAMESPACE=namespace,
    )  # fmt: skip
    assert code == 0, shown
    assert f"1 file, {len(LOG)} B, 6 lines (" in shown
    assert f"/s), 1 rejected; slow is {2 * len(LOG)} B behind" in shown


@pytest.mark.parametrize("source", ["folder", "feed"])
def test_ctrl_c_ends_it(standalone: Server, tmp_path: Path, source: str) -> None:
    """Interrupt it among many files, and while it waits for more; keep the counts."""
    table, namespace = str(write_mmdb(tmp_path / "places.mmdb")), secrets.token_hex(4)
    words = ["--feed", "f", "--consumer", "a"]
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        if source == "feed":
            hf.file_feed("f", consumers=["a"]).publish(io.BytesIO(LOG), name="a.log")
        else:
            (tmp_path / "many").mkdir()
            for n in range(1_000):
                (tmp_path / "many" / f"{n}.log").write_bytes(b"%d\n" % n + LOG)
            words = ["--from", str(tmp_path / "many")]
        code, shown = on_terminal(
            *("logs", "tally", "daily", *words, "--geo", table),
            wait_for=r"[1-9]\d* files?, ", say=CTRL_C,  # lines are shown before they are counted
            HOLDFAST_URL=standalone.url, HOLDFAST_NAMESPACE=namespace,
        )  # fmt: skip
        assert code == 130, shown
        assert 4 <= hf.tally("daily").total("2011-10-10") < 1_000 * 4


def test_ctrl_c_ends_the_calls_that_have_begun(
    hf: Holdfast, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End the running threads if Ctrl-C comes before all have begun."""

    class Interrupted(ThreadPoolExecutor):
        def submit(self, *args: Any, **options: Any) -> Any:
            if self._threads:
                raise KeyboardInterrupt
            return super().submit(*args, **options)

    class Endless:
        def files(self) -> Iterator[Any]:
            while True:
                yield from LocalFiles(logs).files()

    monkeypatch.setattr(counting, "ThreadPoolExecutor", Interrupted)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    key = GeoKey(GeoTable.from_mmdb(write_mmdb(tmp_path / "places.mmdb")))
    with pytest.raises(KeyboardInterrupt):
        counting.count_lines(hf, "daily", cast(LocalFiles, Endless()), key, None)


@pytest.mark.parametrize(
    ("mode", "message"),
    [("broadcast", "b is 2.0 MiB behind"), ("share", "2.0 MiB to go, a has the oldest file")],
)
def test_the_slowest_consumer_is_named(mode: Literal["broadcast", "share"], message: str) -> None:
    """Name the slowest consumer; if they share the files, the holder of the oldest."""
    now, behind = datetime.now(UTC), {"a": 2**20 * (1 + (mode == "share")), "b": 2**21}
    consumers = tuple(ConsumerStatus(n, True, now, 0, 0, behind[n], 0, 0) for n in behind)
    status = FeedStatus("f", "open", mode, holders=("a", "b"), consumers=consumers)
    assert progress_of(status) == message
    assert progress_of(FeedStatus("f", "open", mode)) == ""


def test_the_most_frequent_values_are_shown(
    run: Run, hf: Holdfast, logs: Path, tmp_path: Path
) -> None:
    """Show them with bars, of the last day or of another one."""
    table = str(write_mmdb(tmp_path / "places.mmdb"))
    run("logs", "tally", "daily", "--from", str(logs), "--geo", table)
    shown = run("logs", "top", "daily")
    assert shown.exit_code == 0, shown.output
    head, columns, first, second = shown.stdout.splitlines()
    assert head == "2011-10-10: 8 lines, 0 rejected"
    assert columns.split() == ["country", "lines", "share"]
    assert first.split() == ["US", "6", "75.0%", "█" * 30]
    assert second.split() == ["AU", "2", "25.0%", "█" * 10]
    (row,) = rows(run("logs", "top", "daily", "city", "--day", "2011-10-09", "--json"))
    assert (row["value"], row["lines"], row["share"]) == ("DE/Land Berlin/Berlin", 2, 1.0)
    assert len(rows(run("logs", "top", "daily", "--limit", "1", "--json"))) == 1


def test_hostile_values_are_shown_as_what_they_are(run: Run, hf: Holdfast, logs: Path) -> None:
    """Read values as no markup, and escape control characters."""
    tally = hf.tally("daily")
    tally.aggregate(LocalFiles(logs), key=lambda _: Counted("2011-10-10", {HOSTILE: HOSTILE}))
    shown = run("logs", "top", "daily", HOSTILE)
    assert VISIBLE in shown.stdout
    assert shown.stdout.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["top", "none"], 3, "has no lines"),
        (["top", "none", "--day", "2011-10-10"], 3, "no lines of 2011-10-10"),
        (["top", "none", "--day", "yesterday"], 2, "day must be a date"),
        (["tally", "t"], 2, "give --from DIR, or --feed"),
        (["tally", "t", "--feed", "f"], 2, "give --from DIR, or --feed"),
        (["tally", "t", "--from", "/nowhere/at/all"], 2, "there is no"),
        (["tally", "t", "--from", "."], 2, "Give --geo FILE"),
        (["tally", "t", "--from", ".", "--geo", "none.mmdb"], 2, "cannot read"),
        (["tally", "t", "--from", ".", "--geo", __file__], 1, "no usable table"),
        (["tally", "t", "--from", ".", "--geo", "x.csv"], 2, "--locations"),
        (["tally", "t", "--from", ".", "--geo", "x.mmdb", "--geo", "y.mmdb"], 2, "one --geo"),
    ],
)
def test_what_is_missing_is_reported(run: Run, args: list[str], code: int, message: str) -> None:
    """Print a sentence, and exit with a code."""
    result = run("logs", *args)
    assert result.exit_code == code, result.output
    assert message in result.stderr.replace("\n", " ")


def test_a_missing_extra_is_named(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Print what to install: on Python 3.14 only another build of Python has it."""
    (logs / "c.zst").write_bytes(b"")
    table = str(write_mmdb(tmp_path / "places.mmdb"))
    for name in ("backports", "compression"):
        monkeypatch.setitem(sys.modules, name, None)  # to be imported it would have to be there
    result = run("logs", "tally", "daily", "--from", str(logs), "--geo", table)
    assert result.exit_code == 1
    found = "the module `compression.zstd`" if sys.version_info >= (3, 14) else "`holdfast[zstd]`"
    assert found in result.stderr.replace("\n", " ")


def test_a_damaged_log_sets_the_exit_code(run: Run, logs: Path, tmp_path: Path) -> None:
    """Count the other logs."""
    (logs / "c.gz").write_bytes(gzip.compress(LOG)[:-9])
    table = str(write_mmdb(tmp_path / "places.mmdb"))
    result = run("logs", "tally", "daily", "--from", str(logs), "--geo", table)
    assert result.exit_code == 1
    assert "1 file damaged" in result.stdout
