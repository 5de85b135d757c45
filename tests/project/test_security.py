"""What docs/security.md says is shown by tests that exist; and what the package never does."""

import ast
import re

from project.sources import ROOT, imported, modules, relative, tree

PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))

ASKS_OTHERS = {
    "aiohttp", "ftplib", "http", "httpx", "requests", "smtplib", "tarfile", "zipfile",
}  # fmt: skip
"""Modules that fetch, send or unpack archives."""

MAY = {
    "src/holdfast_demo/dashboard.py": "opens the dashboard of the demo",
    "src/holdfast_demo/mail/evening.py": "the demo that sends mails, to a server of its own",
    "src/holdfast/cli/pages.py": "the names of status codes",
    "src/holdfast/web/problems.py": "the names of status codes",
}


def test_each_test_that_is_named_exists() -> None:
    functions = {
        (file, node.name)
        for file in {file for file, _ in NAMED}
        for node in tree(ROOT / file).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert [named for named in NAMED if named not in functions] == []


def test_each_promise_names_a_test() -> None:
    promised, _, _ = PAGE.partition("## Not done")
    rows = [row for row in re.findall(r"^\| (.+) \|$", promised, re.MULTILINE) if row[0].isupper()]
    assert len(rows) > 40
    assert [row for row in rows if "`tests/" not in row] == []


def test_nothing_is_fetched_or_sent_by_itself() -> None:
    found = {
        relative(path)
        for path in modules()
        if {each.partition(".")[0] for each in imported(path)} & ASKS_OTHERS
        or "urllib.request" in imported(path)
    }
    assert found == set(MAY)
