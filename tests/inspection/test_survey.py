"""A survey of a namespace with something of everything in it."""

from __future__ import annotations

import pytest

from conftest import Site
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, Holdfast, ServerUnavailable, TaskRegistry
from holdfast.inspect.permits import PermitList, process_name
from holdfast.inspect.survey import SurveyLimits, survey

tasks = TaskRegistry()


@tasks.task(queue="email")
def send() -> None: ...


async def _all_listed(hf: AsyncHoldfast) -> bool:
    listed = [await hf.locks(), await hf.semaphores(), await hf.rw_locks()]
    return all(listed)


async def test_a_survey_reads_every_kind(site: Site) -> None:
    """And counts the names of each."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        await hf.enqueue_many([send.call() for _ in range(3)])
        await hf.mailbox("ann").send("hello", sender="bob")
        await hf.create_chat(["ann", "bob"], sender="ann", body="hello", chat_id="guild")
        await hf.counter("hits").add(5)
        index = hf.rw_lock("index")
        async with (
            hf.lock("report").hold(),
            hf.semaphore("printer", limit=2).hold(),
            index.read(),
            index.read(),
        ):
            await eventually_async(lambda: _all_listed(hf))
            found = await survey(hf)
            nothing = await survey(hf, SurveyLimits(0, 1, 0, 0, 0, 0, 0, 0, 0, 0))
    assert (found.namespace, found.topology) == (site.namespace, site.shape[0])
    assert len(found.servers) == site.shape[1]
    assert found.tasks == {"ready": 3, "running": 0, "delayed": 0, "dead": 0}
    assert [minute.done for minute in found.throughputs["email"]] == [0] * 6
    assert found.waited("email") > 0
    assert (found.alive, found.serving("email")) == ([], [])
    assert found.mailboxes["ann"].unread == 1
    assert found.chats["guild"].members == 2
    assert found.counters["hits"].total == 5
    assert found.counters["hits"].seconds == 60
    assert [(each.kind, each.held_of_limit) for each in found.permits] == [
        ("rw_lock", "2 readers"),
        ("semaphore", "1/2"),
        ("lock", "1/1"),
    ]
    assert found.known == {
        "queue": 1, "lock": 1, "rw_lock": 1, "semaphore": 1, "mailbox": 1, "chat": 1, "counter": 1,
        "cached": 0, "row_cache": 0, "file_feed": 0, "tally": 0, "completions": 0,
    }  # fmt: skip
    assert [nothing.queues, nothing.permits, nothing.mailboxes, nothing.counters] == [
        {},
        [],
        {},
        {},
    ]
    assert nothing.known["queue"] == 1


async def test_a_survey_fails_with_an_error_of_the_client() -> None:
    """Not with a group of errors."""
    with Server() as server:
        url = server.url
    async with AsyncHoldfast.from_url(url) as hf:
        with pytest.raises(ServerUnavailable):
            await survey(hf)


def test_permits_of_a_lock_and_of_a_semaphore(site: Site) -> None:
    """One shape for both."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        lock, semaphore = hf.lock("report"), hf.semaphore("printer")
        free = PermitList.of_lock("report", lock.inspect())
        assert (free.free, free.in_use, free.next_free, str(free)) == (
            True, False, None, "lock 'report'",
        )  # fmt: skip
        unknown = PermitList.of_semaphore("printer", semaphore.inspect())
        assert (unknown.limit, unknown.held_of_limit, unknown.free) == (None, "0/?", True)
        with lock.hold() as lease:
            held = PermitList.of_lock("report", lock.inspect())
        assert (held.free, held.fence, len(held.holders)) == (False, lease.fence, 1)
        assert held.next_free == held.holders[0]
        assert "process" in process_name(held.holders[0].name)
    assert process_name("a stranger") == "a stranger"
