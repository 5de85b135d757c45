"""What a worker tells the application's log of tasks that strangers named."""

import logging
import secrets

import pytest

from faults.servers import Server
from holdfast import Holdfast, Retry, TaskRegistry

FORGED = "odd\n2026-11-22 10:00:00 INFO all is well\r\x1b[31m\u202e"


def test_a_record_of_a_task_is_a_line(standalone: Server, caplog: pytest.LogCaptureFixture) -> None:
    registry = TaskRegistry()

    @registry.task(queue=FORGED, name=FORGED, retry=Retry(attempts=1))
    def fail() -> None:
        raise ValueError(FORGED)

    space = f"log-{secrets.token_hex(4)}"
    caplog.set_level(logging.INFO)
    with Holdfast.from_url(standalone.url, namespace=space) as hf:
        hf.enqueue(fail.call())
        hf.worker(registry).run(until_idle=True)
    told = [record for record in caplog.records if hasattr(record, "holdfast_task")]
    assert [record.holdfast_task for record in told] == [FORGED]
    assert all(record.getMessage().isprintable() for record in told)
    assert r"odd\n2026-11-22" in told[0].getMessage()
