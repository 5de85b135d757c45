"""A name with line ends forges no line in the log of an application, however it formats records."""

from __future__ import annotations

import io
import logging

import pytest

from web.dashboard.sample_data import ACTIONS
from web.running import RunningApp

FORGED = "x\n2026-11-23 INFO ann (operator) queue/purge {}: Dropped: 9.\r\n\x85\u2028\u202e\x1b[2Jx"

FORMATS = (
    "%(levelname)s %(message)s",
    "%(user)s %(role)s %(action)s %(target)s: %(outcome)s",
)


@pytest.mark.parametrize("style", FORMATS)
@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_is_one_line(live: RunningApp, action: str, style: str) -> None:
    """Also when it failed; by a form and by JSON; in the name of anybody."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter(style))
    logger = logging.getLogger("holdfast.audit")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        given = {
            "queue": FORGED,
            "name": FORGED,
            "id": FORGED,
            FORGED: FORGED,
            "key": FORGED[:99],
            "task": FORGED,
            "reason": FORGED,
            "limit": "3",
            "which": "dead",
        }
        passed = live.passes.issue(f"eve {FORGED}", "operator")
        client = live.visitor(None, Authorization=f"Bearer {passed}")
        client.post(f"/{action}", json=given, headers={"Accept": "application/json"})
        client.post(f"/{action}", data=given, headers={"Accept": "text/html"})
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    lines = written.getvalue().split("\n")
    assert len(lines) == 3
    assert lines[2] == ""
    assert all(line.isprintable() and "eve x" in line and action in line for line in lines[:2])


def test_the_fields_of_a_record_are_one_line_each(live: RunningApp) -> None:
    """Also what is in them: an application may take one by itself."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logger = logging.getLogger("holdfast.audit")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        client = live.visitor("operator", Accept="application/json")
        client.post("/task/cancel", json={"queue": FORGED, "id": ["a", FORGED]})
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    [record] = records
    target = record.target  # type: ignore[attr-defined]
    texts = [target["queue"], *target["id"], record.getMessage(), record.outcome]  # type: ignore[attr-defined]
    assert all(text.isprintable() for text in texts)
    assert target["queue"].startswith("x\\n2026-11-23 INFO")
