"""A server without free memory refuses new tasks, and the stored ones are done."""

from collections.abc import Iterator

import pytest

from faults.servers import Server
from holdfast import Holdfast, ServerRefused, TaskRegistry

tasks = TaskRegistry()
ran: list[str] = []


@tasks.task(queue="work")
async def note(text: str) -> str:
    ran.append(text)
    return text.upper()


@pytest.fixture
def hf(fresh_server: Server) -> Iterator[Holdfast]:
    ran.clear()
    with Holdfast.from_url(fresh_server.url) as hf, fresh_server.client() as client:
        for text in ("first", "second", "third", "fourth"):
            hf.enqueue(note.call(text).options(task_id=text))
        hf.enqueue(note.call("later").options(task_id="later", delay=3600))
        client.config_set("maxmemory", 1)
        client.config_set("maxmemory-policy", "noeviction")
        yield hf
        client.config_set("maxmemory", 0)


def test_enqueueing_reports_that_the_server_is_full(hf: Holdfast) -> None:
    """Nothing of it is stored, whether it is one task or many."""
    for attempt in (
        lambda: hf.enqueue(note.call("more")),
        lambda: hf.enqueue_many([note.call("more"), note.call("still more")]),
    ):
        with pytest.raises(ServerRefused, match="memory") as caught:
            attempt()
        assert "was not applied" in str(caught.value)
    assert hf.queue("work").stats().ready == 4


def test_queued_tasks_are_worked_off(hf: Holdfast) -> None:
    handles = [hf.queue("work").handle(text) for text in ("first", "second", "third", "fourth")]
    assert handles[1].cancel()
    assert hf.queue("work").handle("later").cancel()
    hf.worker(tasks).run(until_idle=True)
    assert ran == ["first", "third", "fourth"]
    assert [handles[i].result(timeout=10) for i in (0, 2, 3)] == ["FIRST", "THIRD", "FOURTH"]
    assert handles[1].status().state == "cancelled"


def test_a_full_server_can_be_stopped_and_emptied(hf: Holdfast) -> None:
    queue = hf.queue("work")
    queue.pause()
    assert queue.stats().paused
    assert queue.tasks("queued", limit=1)[0].args == ("first",)
    assert queue.purge() == 5
    queue.resume()
    assert queue.stats().ready == queue.stats().delayed == 0
