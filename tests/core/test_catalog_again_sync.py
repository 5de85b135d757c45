# Generated from test_catalog_again_async.py by tools/unasync.py: edit that, then run `make sync`.
"""A server that lost its list of units, as by a restart from an older state, gets it again."""

import pytest

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry
from holdfast.core._sync import catalog

tasks = TaskRegistry()


@tasks.task(queue="noted")
def work() -> None:
    """Do nothing."""


def test_a_client_that_keeps_running_notes_its_units_again(
    fresh_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert catalog._AGAIN_S <= 600
    monkeypatch.setattr(catalog, "_AGAIN_S", 0.2)
    with Holdfast.from_url(fresh_server.url) as hf:
        hf.enqueue(work.call())
        hf.mailbox("jack").send("hi", sender="jill")
        hf.counter("hits").add()
        fresh_server.execute("FLUSHALL")

        def listed() -> bool:
            hf.enqueue(work.call())
            hf.mailbox("jack").send("hi", sender="jill")
            hf.counter("hits").add()
            return (
                hf.queues() == ["noted"]
                and hf.mailboxes() == ["jack"]
                and hf.known_counters() == ["hits"]
            )

        eventually(listed)
