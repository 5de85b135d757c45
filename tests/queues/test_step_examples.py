"""The examples of long tasks do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


NAMES = ("agent.py", "orders.py", "nightly.py")
PAGE = EXAMPLES.parent / "docs" / "long-tasks.md"


def test_the_page_shows_the_code_of_the_examples() -> None:
    code = "".join((EXAMPLES / name).read_text() for name in NAMES)
    shown = re.findall(r"```py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(shown) == 4
    for each in shown:
        assert each in code


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "agent.py",
            [
                "2 calls of the model, 1 mail: We are sorry, and send you a new one.",
                "--- to be approved: We are sorry, and send you a new one.",
            ],
        ),
        (
            "orders.py",
            [
                "shipped: parcel with book",
                "no stock: gave-up: lamp is out of stock",
                "withdrawn: withdrawn",
                "carrier: gave-up: not shipped: the carrier does not answer",
                "taken: 30, in stock: 1",
            ],
        ),
        pytest.param(
            "nightly.py",
            [
                "alarm: nightly:2026-11-26: gave-up: part 3 is not a valid file",
                "state: failed",
                "state: done",
                "published: nightly:2026-11-26: 200,000 rows in 10,000 parts",
            ],
            marks=pytest.mark.long,
        ),
    ],
)
def test_an_example_runs(name: str, lines: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line in lines:
        assert line in done.stdout.splitlines(), done.stdout
