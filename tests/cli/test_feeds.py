"""Test `holdfast logs send`, `show` and `retry`: their effects, reports and exit codes."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import msgspec
import pytest

from cli.filled_queue import HOSTILE, Run, rows
from cli.programs import on_terminal
from conftest import Site
from faults.servers import Server
from holdfast import DamagedFile, Holdfast


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two good files."""
    (tmp_path / "days").mkdir()
    (tmp_path / "a.log").write_bytes(b"a\n" * 500)
    (tmp_path / "days" / "b.log.gz").write_bytes(gzip.compress(b"b\n" * 300))
    return tmp_path


def test_a_folder_is_sent(hf: Holdfast, run: Run, folder: Path) -> None:
    """Send it to each consumer and seal the feed; a second run sends nothing."""
    sent = run("logs", "send", str(folder), "--to", "geo-1", "--to", "geo-2", "--budget", "16")
    assert sent.exit_code == 0, sent.output
    assert sent.stdout == "2 files, 1.6 KiB, in feed logs, sealed\n"
    [again] = rows(run("logs", "send", str(folder), "--json"))
    assert again == {
        "feed": "logs", "files": 2, "sent": 0, "bytes": 1600, "failed": {}, "sealed": True,
    }  # fmt: skip
    [shown] = rows(run("logs", "show", "--json"))
    assert (shown["state"], shown["files"], shown["budget"]) == ("sealed", 2, 2**24)
    for name in ("geo-1", "geo-2"):
        found = {}
        for file in hf.file_feed("logs").consumer(name).files():
            with file:
                found[file.name] = sum(1 for _ in file.lines())
        assert found == {"a.log": 500, "days/b.log": 300}
    assert rows(run("logs", "show", "--json"))[0]["state"] == "over"


def test_a_terminal_shows_how_far_it_is(
    standalone: Server, folder: Path, request: pytest.FixtureRequest
) -> None:
    """Show the file, the bytes, their rate, and the slowest consumer."""
    code, shown = on_terminal(
        *("logs", "send", str(folder), "--to", "geo"), HOLDFAST_URL=standalone.url, NO_COLOR="1",
        HOLDFAST_NAMESPACE=request.node.name,
    )  # fmt: skip
    assert code == 0, shown
    for text in ("b.log", "1.6/1.0 KiB", " KiB/s", "geo is 1000 B behind"):
        assert text in shown


def test_files_that_cannot_be_sent_are_reported(run: Run, folder: Path) -> None:
    """Send the other files, and leave the feed open for another try."""
    gone = folder / "c.log"
    gone.symlink_to(folder / "none")
    sent = run("logs", "send", str(folder), "--share")
    assert sent.exit_code == 1
    assert "holdfast: c.log: [Errno 2] No such file" in sent.stderr
    assert "holdfast: feed logs is not sealed: fix the files above" in sent.stderr
    assert sent.stdout == "2 files, 1.6 KiB, in feed logs\n"
    gone.unlink()
    again = run("logs", "send", str(folder))
    assert (again.exit_code, again.stdout.split()[-1]) == (0, "sealed"), again.output


def test_a_damaged_file_is_reported(hf: Holdfast, run: Run, folder: Path) -> None:
    """Report it to the sender and the consumers, which reach the end of the feed."""
    (folder / "bad.gz").write_bytes(gzip.compress(b"good\n") + b"no gzip")
    for _ in range(2):
        sent = run("logs", "send", str(folder), "--to", "geo")
        assert sent.exit_code == 1
        assert "holdfast: bad.gz: file 'bad' of feed 'logs' is damaged: member 2" in sent.stderr
        assert sent.stdout.split()[-1] == "sealed"
    found, damaged = [], []
    for file in hf.file_feed("logs").consumer("geo").files():
        try:
            with file:
                found += file.lines()
        except DamagedFile as error:
            damaged.append(error.file)
    assert (len(found), damaged) == (801, ["bad"])


def test_wrong_settings_are_reported(run: Run, folder: Path) -> None:
    """Print what can be done from a shell."""
    for words, output in [
        ((str(folder / "a.log"),), "is no folder"),
        ((str(folder),), "the feed is new: give its consumers"),
        ((str(folder), "--budget", "3"), "--budget needs the consumers too"),
    ]:
        refused = run("logs", "send", *words)
        assert (refused.exit_code, output in refused.stderr) == (2, True), refused.output
    assert run("logs", "send", str(folder), "--to", "a", "--keep-open").exit_code == 0
    refused = run("logs", "send", str(folder), "--to", "b")
    assert refused.exit_code == 2
    assert "leave out --to, --share and --budget" in refused.stderr


def test_a_feed_is_shown(hf: Holdfast, run: Run) -> None:
    """Show any names of consumers; exit with 3 for an unknown feed."""
    assert run("logs", "show").exit_code == 3
    feed = hf.file_feed("logs", consumers=["geo", HOSTILE])
    feed.publish(io.BytesIO(b"x" * 3000), name="x")
    with next(iter(feed.consumer("geo").files())):
        pass
    shown = run("logs", "show")
    assert shown.exit_code == 0, shown.output
    assert HOSTILE not in shown.stdout
    lines = {line.split("  ")[0]: line for line in shown.stdout.splitlines()}
    assert lines["bytes"].endswith("2.9 KiB")
    assert lines["geo"].split() == ["geo", "yes", "1", "2.9", "KiB", "0", "B", "0", "0"]


def test_files_that_failed_too_often_are_shown_and_tried_again(
    hf: Holdfast, run: Run, home: Site
) -> None:
    """Escape their names and reasons."""
    assert run("logs", "retry").exit_code == 3
    feed = hf.file_feed("logs", consumers=["geo"])
    feed.publish(io.BytesIO(b"x"), name=HOSTILE)
    positions = f"{hf.namespace}:{{feed:logs}}:positions"
    for _ in range(2):
        with pytest.raises(OSError, match="no space"), next(feed.consumer("geo").files()):
            raise OSError(f"no space {HOSTILE}")
        stored = msgspec.msgpack.decode(home.client.hget(positions, "1:1"))
        stored |= {"tries": 9, "after_ms": 0}
        home.client.hset(positions, "1:1", msgspec.msgpack.encode(stored))
    shown = run("logs", "show")
    assert "1 file; try again: holdfast logs retry" in shown.stdout
    assert "OSError: no space" in shown.stdout
    assert HOSTILE not in shown.stdout
    assert rows(run("logs", "show", "--json"))[0]["failed"] == 1
    assert run("logs", "retry", "--consumer", "nobody").exit_code == 3
    assert rows(run("logs", "retry", "other", "--json")) == [{"feed": "logs", "retried": 0}]
    assert run("logs", "retry").stdout == "1 file of feed logs will be handed out again\n"
    assert feed.status().failed == 0


def test_links_out_of_a_folder_are_sent_only_with_the_option(run: Run, folder: Path) -> None:
    """Exit with code 1 without the option; the feed stays open."""
    (folder / "days" / "link").symlink_to(__file__)
    sent = run("logs", "send", str(folder), "--share")
    assert (sent.exit_code, "leads out of the folder" in sent.stderr) == (1, True)
    sent = run("logs", "send", str(folder), "--share", "--follow-links")
    assert sent.exit_code == 0
    assert sent.stdout.startswith("3 files (2 of them were there before)")
