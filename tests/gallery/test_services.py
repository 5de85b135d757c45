"""Examples that start several processes with one command, and check themselves."""

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def output_of(example: str, *args: str, cwd: Path) -> list[str]:
    """Return the lines that an example prints."""
    environment = {name: value for name, value in os.environ.items() if "HOLDFAST" not in name}
    done = subprocess.run(
        [sys.executable, EXAMPLES / example, *args],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=115,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_service_with_fastapi(tmp_path: Path) -> None:
    """Its web process, worker and relay keep what the service promises."""
    assert output_of("fastapi_service/start.py", "--once", cwd=tmp_path) == [
        "ordered: 201",
        "repeated: ({'id': 1, 'item': 'lamp', 'invoice': ''}, 'true')",
        "the key with another order: 422",
        "progress: ['address', 'taxes', 'total']",
        "end: ('end', {'state': 'done'})",
        "invoice: invoice 1: lamp for ann",
        "the order of another user: 404",
        f"ten orders a minute: {[*[201] * 10, 429]}",
    ]


def test_the_page_lists_the_examples() -> None:
    """Each example, with its command; and the code that it shows is that of the example."""
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text()
    services = {path.parent.name for path in EXAMPLES.glob("*/start.py")}
    of_the_demo = {"guild.py", "logs.py", "market.py"}
    programs = {path.name for path in EXAMPLES.glob("*.py")} - of_the_demo
    assert [name for name in sorted(services | programs) if name not in page] == []
    [shown] = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    assert shown in (EXAMPLES / "tenants.py").read_text()
    commands = re.findall(r"`python (examples/[\w/.]+)`", page)
    assert len(commands) == 7
    assert [each for each in commands if not (EXAMPLES.parent / each).is_file()] == []


def test_tenants_share_a_worker(tmp_path: Path) -> None:
    lines = output_of("tenants.py", cwd=tmp_path)
    assert "most calls of one tenant at once: 2" in lines, lines
    assert "all 220 pages were loaded, each once" in lines, lines
    assert "umbra and wonka were done before acme" in lines, lines
    assert "refused at the door: 5 of 15 requests of acme, 0 of 10 of umbra" in lines, lines
