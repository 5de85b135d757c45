"""The docs are true: examples run, links lead somewhere, tables match the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import acl_rule
from holdfast.completions import keys as completion_keys
from holdfast.core.names import Namespace
from holdfast.counters import keys as counter_keys
from holdfast.files import keys as file_keys
from holdfast.files.desk._async import ALL_KEYS
from holdfast.locks import keys as lock_keys
from holdfast.messages import keys as message_keys
from holdfast.queues import keys
from holdfast.rows import keys as row_keys
from holdfast.tallies import keys as tally_keys
from holdfast.tallies.parts import dimensions_of, rejects_of

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
    single += [keys.expiring, keys.left_over, keys.awaited, keys.pace, keys.settings]
    names = {function(unit) for function in single} | {*keys.ready(unit), *keys.due(unit)}
    names |= {unit.key("ledger:0"), unit.key("ledger:1"), keys.result(unit, "<id>")}
    page = (ROOT / "docs/wire.md").read_text()
    tables = re.findall(r"\| key[^|\n]*\| type.*?(?=\n\n)", page, re.DOTALL)
    rows = [row.split("|")[1] for table in tables for row in table.splitlines()[2:]]
    documented = {name for row in rows for name in re.findall(r"`(\S+?)`", row)}
    assert documented == {name.removeprefix(unit.prefix) for name in names}


def test_every_key_of_a_lock_is_in_the_wire_docs() -> None:
    """Likewise."""
    unit = Namespace.of("n").unit(lock_keys.LOCK, "l")
    names = {function(unit) for function in (lock_keys.state, lock_keys.holders, lock_keys.line)}
    names |= {unit.key("ledger:0"), unit.key("ledger:1")}
    page = (ROOT / "docs/wire.md").read_text()
    [table] = re.findall(r"\| part[^|\n]*\| type.*?(?=\n\n)", page, re.DOTALL)
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    documented = {name for row in rows for name in re.findall(r"`(\S+?)`", row)}
    assert documented == {name.removeprefix(unit.prefix) for name in names}


def test_every_key_of_a_feed_is_in_the_wire_docs() -> None:
    """Likewise."""
    unit = Namespace.of("n").unit(file_keys.KIND, "f")
    names = {key(unit) for key in ALL_KEYS}
    names |= {unit.key("ledger:0"), unit.key("ledger:1")}
    page = (ROOT / "docs/wire.md").read_text()
    [table] = re.findall(r"\| of a feed[^|\n]*\| type.*?(?=\n\n)", page, re.DOTALL)
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    documented = {name for row in rows for name in re.findall(r"`(\S+?)`", row)}
    assert documented == {name.removeprefix(unit.prefix) for name in names}


def test_every_key_of_mailboxes_and_chats_is_in_the_wire_docs() -> None:
    """Likewise; the list of a user's chats among them."""
    unit = Namespace.of("n").unit(message_keys.CHAT, "c")
    single = [message_keys.meta, message_keys.log, message_keys.cursors, message_keys.active]
    names = {function(unit) for function in [*single, message_keys.chats]}
    names |= {unit.key("ledger:0"), unit.key("ledger:1")}
    page = (ROOT / "docs/wire.md").read_text()
    [table] = re.findall(r"\| of a log[^|\n]*\| type.*?(?=\n\n)", page, re.DOTALL)
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    documented = {name for row in rows for name in re.findall(r"`(\S+?)`", row)}
    assert documented == {name.removeprefix(unit.prefix) for name in names}


def test_every_key_of_a_row_cache_is_in_the_wire_docs() -> None:
    """Likewise."""
    unit = Namespace.of("n").unit(row_keys.SHARD, "c/0")
    names = {key(unit) for key in (row_keys.due, row_keys.plan, row_keys.loads, row_keys.troubles)}
    names.add(row_keys.row(unit, "<id>"))
    page = (ROOT / "docs/wire.md").read_text()
    [table] = re.findall(r"\| of a shard[^|\n]*\| type.*?(?=\n\n)", page, re.DOTALL)
    documented = {row.split("`")[1] for row in table.splitlines()[2:]}
    assert documented == {name.removeprefix(unit.prefix) for name in names}


def test_every_key_of_autocomplete_and_counters_is_in_the_wire_docs() -> None:
    """Likewise; all units in one table."""
    unit = Namespace.of("n").unit(counter_keys.KIND, "c")
    single = [completion_keys.names, completion_keys.limit, completion_keys.index]
    names = {function(unit).removeprefix(unit.prefix) for function in single}
    names |= {"definition", "<precision>:0", "<precision>:1"}
    assert counter_keys.definition(unit) == unit.key("definition")
    assert counter_keys.chunk(unit, 60, 1) == unit.key("60:1")
    page = (ROOT / "docs/wire.md").read_text()
    [table] = re.findall(r"\| unit \| its part \| type.*?(?=\n\n)", page, re.DOTALL)
    rows = [row.split("|")[2] for row in table.splitlines()[2:]]
    assert {name for row in rows for name in re.findall(r"`(\S+?)`", row)} == names


def test_every_key_of_a_tally_is_in_the_wire_docs() -> None:
    """Likewise."""
    unit = Namespace.of("n").unit(tally_keys.KIND, "t")
    names = {tally_keys.days(unit), tally_keys.pending(unit), unit.key("file:<id>")}
    names |= {tally_keys.samples(unit, "<day>"), tally_keys.sums(unit, rejects_of("<day>"))}
    names |= {tally_keys.sums(unit, "of:<day>:<dimension>")}
    names |= {tally_keys.sums(unit, dimensions_of("<day>"))}
    names |= {make(unit, "<token>") for make in (tally_keys.staged, tally_keys.journal)}
    page = (ROOT / "docs/wire.md").read_text()
    [table] = re.findall(r"\| of a tally[^|\n]*\| type.*?(?=\n\n)", page, re.DOTALL)
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    documented = {name for row in rows for name in re.findall(r"`(\S+?)`", row)}
    assert documented == {name.removeprefix(unit.prefix) for name in names}
