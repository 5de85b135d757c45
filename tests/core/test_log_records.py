"""The message of every record that the library logs is one line."""

import ast
import io
import logging

import pytest

from conftest import Site
from holdfast import Holdfast, Retry, TaskRegistry
from holdfast.errors.one_line_logger import logger_of, one_line
from project.sources import PACKAGE, modules, relative, tree

FORGED = "x\n2026-11-23 INFO ann (operator) queue/purge: done\r\n\x85\u2028\u202e\x1b[2Jx"

SETTINGS = ("cli/top/live.py", "cli/serve/commands.py", "sentry/reported.py")
"""Modules that set up loggers, or filter their records, and log nothing."""


class Hostile:
    """Its text has line ends."""

    def __str__(self) -> str:
        return FORGED

    __repr__ = __str__


@pytest.mark.parametrize(
    "given", [FORGED, Hostile(), ValueError(FORGED), [FORGED], {FORGED: FORGED}]
)
def test_what_is_given_is_on_one_line(given: object) -> None:
    written = io.StringIO()
    logger = logging.Logger("forged")
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(message)s %(filename)s"))
    logger.addHandler(handler)
    ours = logger_of("forged")
    ours.logger = logger
    ours.warning("%s and %r of %d", given, given, 3)
    text = written.getvalue()
    assert text.endswith("test_log_records.py\n")
    assert text[:-1].isprintable()
    assert one_line(7) == 7
    assert one_line(None) is None


def test_no_module_logs_by_itself() -> None:
    found = [
        relative(path)
        for path in modules()
        if any(name in path.read_text() for name in ("getLogger", "LoggerAdapter"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("getLogger", "LoggerAdapter")
        and "holdfast" in ast.unparse(node)
    ]
    assert set(found) <= {relative(PACKAGE / name) for name in SETTINGS}


def test_a_worker_logs_one_line_for_each_task(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    tasks = TaskRegistry()

    @tasks.task(queue=FORGED, name=FORGED, retry=Retry(attempts=1))
    def fail() -> None:
        raise ValueError(FORGED)

    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        hf.enqueue(fail.call())
        with caplog.at_level(logging.DEBUG, "holdfast"):
            hf.worker(tasks).run(until_idle=True)
    records = [each for each in caplog.records if each.name == "holdfast.worker"]
    assert len(records) >= 3
    for record in records:
        assert record.getMessage().isprintable()
