"""The example project: one command starts PostgreSQL, Valkey, the site, a worker and a relay."""

import os
import subprocess
import sys
from pathlib import Path

START = Path(__file__).parents[2] / "examples" / "django_shop" / "start.py"


def test_the_shop_starts_with_one_command(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if "HOLDFAST" not in name}
    done = subprocess.run(
        [sys.executable, START, "--once"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=115,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if " order" in line] == [
        *(f"receipt of order {number}" for number in range(0, 10, 2)),
        "5 orders committed and have receipts; 5 were rolled back and have none",
    ]
