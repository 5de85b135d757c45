"""`holdfast rows ls`, `show` and `run`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.filled_queue import HOSTILE, Run, rows
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast

MODULE = """
from holdfast import {half}

class Source:
    {prefix}def load(self, ids):
        return {{row_id: {{"n": row_id}} for row_id in ids}}

hf = {half}.from_url({url!r}, namespace={namespace!r})
cache = hf.row_cache("stock", source=Source())
reader = hf.row_cache("stock")
"""


class Source:
    """Load rows; half of them fail."""

    def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
        """Return the rows with odd ids."""
        return {each: ValueError("odd") if each == 3 else {"name": HOSTILE} for each in ids}


@pytest.fixture
def stock(hf: Holdfast) -> None:
    """Create a cache with three rows; one of them fails."""
    cache = hf.row_cache("stock", source=Source())
    cache.schedule_many({1: 1000, 3: 1000, "4": 1000})
    cache.refresh_due()


def test_caches_are_listed(stock: None, run: Run) -> None:
    """Print the state of their source."""
    _, line = run("rows", "ls").stdout.splitlines()
    name, scheduled, _, failing, *_, source = line.split()  # a row that fails is due again soon
    assert [name, scheduled, failing, source] == ["stock", "3", "1", "ok"]


def test_one_cache_and_its_rows_are_shown(stock: None, run: Run) -> None:
    """Print why a row is in its state; ids may be JSON."""
    assert "failing    1" in run("rows", "show", "stock").stdout
    assert rows(run("rows", "show", "stock", "--json"))[0]["cache"] == "stock"
    shown = run("rows", "show", "stock", "1").stdout
    assert "Row 1 is fresh, read " in shown
    assert "\x1b" not in shown
    failed = run("rows", "show", "stock", "3").stdout
    assert "Its last load failed: ValueError: odd" in failed
    [found] = rows(run("rows", "show", "stock", '"4"', "--json"))
    assert (found["id"], found["state"], found["every"]) == ("4", "fresh", 1000)
    assert "Row 4 is uncached" in run("rows", "show", "stock", "4").stdout
    assert "Row ('eu', 7) is uncached" in run("rows", "show", "stock", '["eu", 7]').stdout
    assert "Row 'abc' is uncached" in run("rows", "show", "stock", "abc").stdout
    wrong = run("rows", "show", "stock", "[[1]]")
    assert (wrong.exit_code, "an id is an int, a str" in wrong.stderr) == (2, True)


def test_a_row_that_cannot_be_decoded(hf: Holdfast, run: Run) -> None:
    """Explain the row all the same, for example if another codec wrote it."""

    class Raw:
        def encode(self, value: Any) -> bytes:
            return b"\xff"

        def decode(self, data: bytes, into: Any = Any) -> Any:
            return data

    hf.row_cache("raw", source=Source(), codec=Raw()).get(1)
    shown = run("rows", "show", "raw", "1")
    assert shown.exit_code == 0
    assert "Row 1 is fresh" in shown.stdout
    assert "cannot be decoded" in shown.stdout
    [found] = rows(run("rows", "show", "raw", "1", "--json"))
    assert (found["state"], found["value"]) == ("fresh", None)
    assert "cannot be decoded" in found["problem"]


@pytest.mark.parametrize("half", ["Holdfast", "AsyncHoldfast"])
def test_rows_are_refreshed_until_it_is_stopped(
    standalone: Server, tmp_path: Path, half: str
) -> None:
    """Refresh them in a process of its own; exit with code 0 at the end."""
    namespace = secrets.token_hex(4)
    prefix = "async " if half == "AsyncHoldfast" else ""
    (tmp_path / "shop.py").write_text(
        MODULE.format(half=half, prefix=prefix, url=standalone.url, namespace=namespace)
    )
    with (
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
        Process.python(
            "-c",
            f"import os, sys; os.chdir({str(tmp_path)!r}); sys.argv[1:] = ['rows', 'run', "
            "'shop:cache']; from holdfast.cli import main; main()",
            name="refresher",
        ) as refresher,
    ):
        refresher.wait_for_output("refreshing row cache 'stock'")
        hf.row_cache("stock").schedule_many({1: 0.2, 2: 1000})
        eventually(lambda: hf.row_cache("stock").get(2).value == {"n": 2}, 30)
        refresher.terminate()
        assert refresher.wait() == 0, refresher.output
        assert "no longer refreshes row cache" in refresher.output


def test_a_wrong_target_is_explained(tmp_path: Path, run_in: Callable[[Path], Run]) -> None:
    """Print one sentence."""
    url = "redis://127.0.0.1:1"
    module = MODULE.format(half="Holdfast", prefix="", url=url, namespace="n")
    (tmp_path / "shop.py").write_text(module)
    for target, problem in {
        "shop:hf": "'hf' of module 'shop' (shop.py) is not a RowCache but 'Holdfast'; what it has",
        "shop.py:cache": "did you mean 'shop:cache'?",
        "shop:reader": "row cache 'stock' has no source: it only reads",
    }.items():
        result = run_in(tmp_path)("rows", "run", target)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.stderr
        assert problem in result.stderr
