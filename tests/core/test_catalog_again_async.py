"""A server that lost its list of units, as by a restart from an older state, gets it again."""

import pytest

from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, TaskRegistry
from holdfast.core._async import catalog

tasks = TaskRegistry()


@tasks.task(queue="noted")
def work() -> None:
    """Do nothing."""


async def test_a_client_that_keeps_running_notes_its_units_again(
    fresh_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert catalog._AGAIN_S <= 600
    monkeypatch.setattr(catalog, "_AGAIN_S", 0.2)
    async with AsyncHoldfast.from_url(fresh_server.url) as hf:
        await hf.enqueue(work.call())
        await hf.mailbox("jack").send("hi", sender="jill")
        await hf.counter("hits").add()
        fresh_server.execute("FLUSHALL")

        async def listed() -> bool:
            await hf.enqueue(work.call())
            await hf.mailbox("jack").send("hi", sender="jill")
            await hf.counter("hits").add()
            return (
                await hf.queues() == ["noted"]
                and await hf.mailboxes() == ["jack"]
                and await hf.known_counters() == ["hits"]
            )

        await eventually_async(listed)
