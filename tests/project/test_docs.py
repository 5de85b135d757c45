"""The docs are true: examples run, links lead somewhere, tables match the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import acl_rule
from holdfast.core.names import Namespace
from holdfast.queues import keys

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [
    (page, number, code)
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize(
    ("page", "number", "code"), EXAMPLES, ids=[f"{page.stem}-{n}" for page, n, _ in EXAMPLES]
)
def test_every_python_example_runs(page: Path, number: int, code: str, tmp_path: Path) -> None:
    """In a fresh interpreter, in an empty folder, with warnings as errors."""
    script = tmp_path / f"{page.stem}_{number}.py"
    script.write_text(code)
    result = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_local_link_leads_somewhere(page: Path) -> None:
    """Relative to the page it is on."""
    links = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_acl_rule_in_the_docs_is_the_one_that_is_tested() -> None:
    """Users copy it from there."""
    assert acl_rule("fakegame") in (ROOT / "docs/operations.md").read_text()


def test_every_key_of_a_queue_is_in_the_wire_docs() -> None:
    """And nothing else is."""
    unit = Namespace.of("n").unit(keys.KIND, "q")
    single = [keys.bodies, keys.state, keys.leases, keys.idle, keys.dead]
    single += [keys.expiring, keys.left_over, keys.awaited, keys.settings]
    names = {function(unit) for function in single} | {*keys.ready(unit), *keys.due(unit)}
    names |= {unit.key("ledger:0"), unit.key("ledger:1"), keys.result(unit, "<id>")}
    page = (ROOT / "docs/wire.md").read_text()
    tables = re.findall(r"\| key[^|\n]*\| type.*?(?=\n\n)", page, re.DOTALL)
    rows = [row.split("|")[1] for table in tables for row in table.splitlines()[2:]]
    documented = {name for row in rows for name in re.findall(r"`(\S+?)`", row)}
    assert documented == {name.removeprefix(unit.prefix) for name in names}
