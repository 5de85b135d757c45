"""Lost replies to cancel, purge and replay: repeated, they count once."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from faults.fixtures import LOST, REPEATED
from faults.servers import Server
from holdfast import Holdfast, OutcomeUnknown, TaskRegistry
from holdfast.queues._sync.handle import CANCEL
from holdfast.queues.partitions._sync.partition import PURGE, REPLAY

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
def test_a_cancellation_that_came_too_late_returns_false_again(
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


STEP = 100
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


def _replay(hf: Any, *task_ids: str, **options: Any) -> Any:
    return hf.queue(QUEUE).replay(task_ids or None, **options)


def enqueue_dead(hf: Holdfast, count: int = COUNT) -> list[str]:
    """Let tasks expire. Return their ids, the first to be replayed first."""
    hf.enqueue_many([note.call(n).options(expires=0.001) for n in range(count)])
    drain(hf)
    return [task.task_id for task in reversed(hf.queue(QUEUE).dead(1000))]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("lost", LOST)
def test_a_replay_that_breaks_off_in_any_step_counts_once(
    lose: Any, direct: Holdfast, lost: str, nth: int, named: bool
) -> None:
    dead = enqueue_dead(direct)

    def replay(hf: Any, **options: Any) -> Any:
        return _replay(hf, *dead if named else (), **options)

    repeat = lose(lost, REPLAY, direct.namespace, replay, nth)
    steps = nth if lost == "drop_reply" else nth - 1
    assert direct.queue(QUEUE).stats().ready == min(COUNT, STEP * steps)
    later = LATER if steps or named else 0  # a replay that has not begun takes these, too
    enqueue_dead(direct, later)  # runs what has been replayed already
    left = max(0, COUNT - STEP * steps)
    assert repeat(REPEATED[nth - 1]) == COUNT
    assert direct.queue(QUEUE).stats().ready == left
    assert repeat("op_id") == COUNT
    assert repeat("another client") == COUNT
    assert direct.queue(QUEUE).stats().dead == later
    drain(direct)
    assert sorted(ran, key=str) == sorted(range(COUNT), key=str)


def test_a_replay_that_is_repeated_with_other_names_answers_the_same(direct: Holdfast) -> None:
    """The steps of a repetition are those of the first replay, whatever it names."""
    dead = enqueue_dead(direct)
    assert _replay(direct, *dead[: STEP + 1], op_id="two steps") == STEP + 1
    for others in ((dead[-1],), tuple(dead[-STEP:]), ()):
        assert _replay(direct, *others, op_id="two steps") == STEP + 1
    assert _replay(direct, dead[-1], op_id="one step") == 1
    for others in (tuple(dead[-STEP:]), ()):
        assert _replay(direct, *others, op_id="one step") == 1
    assert direct.queue(QUEUE).stats().dead == COUNT - STEP - 2


@pytest.mark.parametrize(("name", "done"), [("purge", "removed"), ("replay", "replayed")])
def test_an_operation_that_the_server_refuses_half_way_can_be_repeated(
    standalone: Server, direct: Holdfast, monkeypatch: pytest.MonkeyPatch, name: str, done: str
) -> None:
    """The server refuses the second step, so the operation is neither applied nor not applied."""
    enqueue_dead(direct)
    user = direct.namespace
    allowed = ("ACL", "SETUSER", user, "on", ">secret", "+@all", "~*", "&*")
    standalone.execute(*allowed)
    url = standalone.url.replace("://", f"://{user}:secret@")
    with Holdfast.from_url(url, namespace=direct.namespace) as hf:
        queue = hf.queue(QUEUE)
        operation = {"purge": lambda: queue.purge(dead=True), "replay": queue.replay}[name]
        caller = queue._caller
        call, calls = caller.call, []

        def counted(script: Any, *args: Any, **options: Any) -> Any:
            calls.extend([script] if script in (PURGE, REPLAY) else [])
            if len(calls) == 2:
                standalone.execute("ACL", "SETUSER", user, "resetkeys")
            return call(script, *args, **options)

        monkeypatch.setattr(caller, "call", counted)
        with pytest.raises(OutcomeUnknown, match=f"{STEP} tasks are {done}, then") as lost:
            operation()
        assert direct.queue(QUEUE).stats().dead == COUNT - STEP
        standalone.execute(*allowed)
        assert lost.value.repeat() == COUNT
    assert direct.queue(QUEUE).stats().dead == 0
    standalone.execute("ACL", "DELUSER", user)
