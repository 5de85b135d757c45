"""A name with line ends forges no line in the log of an application, however it formats records."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from web.dashboard.sample_data import ACTIONS
from web.running import RunningApp

FORGED = "x\n2026-11-23 INFO ann (operator) queue/purge {}: Dropped: 9.\r\n\x85\u2028\u202e\x1b[2Jx"

FIELDS = {
    **dict.fromkeys(("queue", "name", "id", FORGED, "task", "reason"), FORGED),
    "key": FORGED[:99],
    "limit": "3",
    "which": "dead",
}

FORMATS = (
    "%(levelname)s %(message)s",
    "%(user)s %(role)s %(action)s %(target)s: %(outcome)s",
)


@contextmanager
def audited(*handlers: logging.Handler) -> Iterator[None]:
    """Send audit records to *handlers* while the context lasts."""
    logger = logging.getLogger("holdfast.audit")
    before = logger.level
    logger.setLevel(logging.INFO)
    for handler in handlers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            logger.removeHandler(handler)
        logger.setLevel(before)


def test_each_action_is_one_line(live: RunningApp) -> None:
    """Also when it failed; by a form and by JSON; in each format."""
    client = live.visitor(
        None, Authorization=f"Bearer {live.passes.issue(f'eve {FORGED}', 'operator')}"
    )
    for action in ACTIONS:
        logs = [io.StringIO() for _ in FORMATS]
        handlers = [logging.StreamHandler(log) for log in logs]
        for handler, style in zip(handlers, FORMATS, strict=True):
            handler.setFormatter(logging.Formatter(style))
        with audited(*handlers):
            client.post(f"/{action}", json=FIELDS, headers={"Accept": "application/json"})
            client.post(f"/{action}", data=FIELDS, headers={"Accept": "text/html"})
        for log in logs:
            *lines, end = log.getvalue().split("\n")
            assert (len(lines), end) == (2, ""), (action, lines)
            assert all(line.isprintable() and "eve x" in line and action in line for line in lines)


def test_the_fields_of_a_record_are_one_line_each(live: RunningApp) -> None:
    """Also what is in them: an application may take one by itself."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    with audited(handler):
        client = live.visitor("operator", Accept="application/json")
        client.post("/task/cancel", json={"queue": FORGED, "id": ["a", FORGED]})
    [record] = records
    target = record.target  # type: ignore[attr-defined]
    texts = [target["queue"], *target["id"], record.getMessage(), record.outcome]  # type: ignore[attr-defined]
    assert all(text.isprintable() for text in texts)
    assert target["queue"].startswith("x\\n2026-11-23 INFO")
