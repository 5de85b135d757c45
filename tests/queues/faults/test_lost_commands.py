"""Lost replies to cancel, pause, resume, redefine and purge: repeated, they count once."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from faults.fixtures import LOST, REPEATED
from faults.servers import Server
from holdfast import Holdfast, TaskRegistry
from holdfast.queues._sync.handle import CANCEL
from holdfast.queues.partitions._sync.partition import PURGE

tasks = TaskRegistry()
ran: list[object] = []
QUEUE = "lost"


@tasks.task(queue=QUEUE)
def note(value: object) -> None:
    ran.append(value)


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """Return a client that does not use the proxy."""
    ran.clear()
    namespace = f"lost-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


def drain(hf: Holdfast) -> None:
    hf.worker(tasks, concurrency=1).run(until_idle=True)


@pytest.mark.parametrize("lost", LOST)
def test_a_cancellation_that_came_too_late_says_so_again(
    lose: Any, direct: Holdfast, lost: str
) -> None:
    def cancel(hf: Any, **options: Any) -> Any:
        return hf.queue(QUEUE).handle("sale").cancel(**options)

    direct.enqueue(note.call("old").options(task_id="sale"))
    drain(direct)
    repeat = lose(lost, CANCEL, direct.namespace, cancel)
    if lost == "drop_reply":
        direct.enqueue(note.call("new").options(task_id="sale"))
    assert repeat("repeat") is False
    drain(direct)
    assert ran == (["old", "new"] if lost == "drop_reply" else ["old"])


STEP = 150
COUNT = 2 * STEP + 50  # three steps
LATER = 20


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("lost", LOST)
def test_a_purge_that_breaks_off_in_any_step_counts_once(
    lose: Any, direct: Holdfast, lost: str, nth: int
) -> None:
    direct.enqueue_many([note.call(n) for n in range(COUNT)])
    repeat = lose(lost, PURGE, direct.namespace, _purge, nth)
    steps = nth if lost == "drop_reply" else nth - 1
    assert direct.queue(QUEUE).stats().ready == max(0, COUNT - STEP * steps)
    assert repeat(REPEATED[nth - 1]) == COUNT
    assert direct.queue(QUEUE).stats().ready == 0
    direct.enqueue(note.call("later"))
    assert repeat("op_id") == COUNT
    assert repeat("another client") == COUNT
    drain(direct)
    assert ran == ["later"]


def _purge(hf: Any, **options: Any) -> Any:
    return hf.queue(QUEUE).purge(**options)


@pytest.mark.parametrize(
    ("lost", "nth"),
    [("drop_reply", 1), ("drop_reply", 2), ("drop_reply", 3), ("drop_request", 3)],
)
def test_a_purge_drops_no_more_than_there_was_when_it_began(
    lose: Any, direct: Holdfast, lost: str, nth: int
) -> None:
    direct.enqueue_many([note.call(n) for n in range(COUNT)])
    repeat = lose(lost, PURGE, direct.namespace, _purge, nth)
    direct.enqueue_many([note.call("later") for _ in range(LATER)])
    assert repeat("repeat") == COUNT
    drain(direct)
    assert ran == ["later"] * LATER
