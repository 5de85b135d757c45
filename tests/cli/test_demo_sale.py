"""`holdfast demo sale` as a user runs it: at the database, then with the cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.programs import holdfast
from faults.servers import Server
from holdfast.cli.app import app
from holdfast.cli.demo.examples import example_file, load_example


def test_a_sale_in_figures(standalone: Server, tmp_path: Path) -> None:
    """All is counted, and the user's server and database are left as they were."""
    file = tmp_path / "shop.db"
    with standalone.client() as client:
        before = {key for key in client.scan_iter("*") if b"ledger" not in key}
    for seconds in ("1", "10"):  # a busy machine may read nothing in a short time
        done = holdfast(
            *("demo", "sale", "--readers", "4", "--seconds", seconds, "--json"),
            *("--database", f"sqlite:///{file}"),
            HOLDFAST_URL=standalone.url,
        )
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert (report["ok"], report["problems"]) == (True, [])
        plain, cached = report["parts"]
        if plain["reads_per_s"] and cached["mean_age_s"]:
            break
    assert plain["failed"] == {}
    assert (plain["cached"], cached["cached"]) == (False, True)
    assert plain["reads_per_s"] > 0
    assert cached["reads_per_s"] > 0
    assert cached["mean_age_s"] > 0
    assert "4 readers, some buyers, 50 items in sqlite" in done.stderr
    with standalone.client() as client:
        left = set(client.scan_iter("*")) - before
        assert all(client.pttl(key) != -1 for key in left)  # for ever


@pytest.mark.long  # the same two parts as above, told in another way
def test_the_table_in_a_pipe(standalone: Server, tmp_path: Path) -> None:
    """Fits into 80 columns, and nothing of it is cut off."""
    done = holdfast(
        *("demo", "sale", "--readers", "4", "--seconds", "1"),
        *("--database", f"sqlite:///{tmp_path / 'shop.db'}"),
        HOLDFAST_URL=standalone.url,
    )
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "SELECTs" in done.stdout
    assert "…" not in done.stdout
    assert "✓ what was sold is gone from the shelf" in done.stdout


def test_readers_that_fail_are_told(tmp_path: Path) -> None:
    """By the names of their errors."""
    example = load_example(example_file("fakeshop/__init__.py"))
    counts = {"reads": 5, "failed: LoadFailed": 2.0}
    assert example.Snapshot(True, 1.0, counts).failed == {"LoadFailed": 2}


def test_a_database_that_cannot_be_used(standalone: Server) -> None:
    """In a sentence."""
    for url in ("nonsense", "nosuchdb://x", "sqlite:////no/such/folder/at/all.db"):
        args = ["demo", "sale", "--database", url, "--url", standalone.url]
        done = CliRunner(env={"COLUMNS": "120"}).invoke(app, args)
        assert done.exit_code == 2, done.stderr
        assert isinstance(done.exception, SystemExit)  # none that would have been a traceback
        assert "the database cannot be used" in done.stderr
