"""A failed test shows its seed and what the servers saw."""

import subprocess
import sys
from pathlib import Path

from faults.processes import TESTS

FAILING = """
def test_that_fails(fresh_server, seed):
    fresh_server.kill()
    assert seed == 0
"""


def test_a_failure_shows_seed_and_logs_and_the_seed_repeats(tmp_path: Path) -> None:
    (tmp_path / "test_failing.py").write_text(FAILING)
    shown = _pytest(tmp_path, "--seed", "4711")
    assert "seed 4711: repeat with --seed 4711" in shown
    assert "Ready to accept connections" in shown
    assert "1 failed" in shown
    assert "1 passed" in _pytest(tmp_path, "--seed", "0")


def _pytest(folder: Path, *options: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "faults.fixtures", *options, str(folder)],
        cwd=folder,
        env={"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout + run.stderr
