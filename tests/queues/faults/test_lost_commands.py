"""Lost replies to cancel, pause, resume, redefine and purge: repeated, they count once."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, OutcomeUnknown, Retry, TaskRegistry
from holdfast.queues._sync import PAUSE, PURGE, REDEFINE
from holdfast.queues.handle._sync import CANCEL

tasks = TaskRegistry()
ran: list[object] = []
QUEUE = "lost"

LOST = ("drop_reply", "drop_request")
WAYS = ("repeat", "op_id", "another client")

Act = Callable[..., Any]  # of a client and of an op_id: the command


@tasks.task(queue=QUEUE)
def note(value: object) -> None:
    ran.append(value)


@tasks.task(queue=QUEUE, retry=Retry(attempts=1))
def fails() -> None:
    raise ValueError


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """A client that does not go through the proxy."""
    ran.clear()
    namespace = f"lost-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


class Broken:
    """A command whose outcome is unknown.

    Args:
        half: the half that gives it.
        proxy: where its reply or its request is lost.
        script: what it runs.
        direct: whose namespace it is about.
        lost: `drop_reply` or `drop_request`.
        act: the command.
        nth: of its steps, the one that is lost.
    """

    def __init__(
        self,
        half: Half,
        proxy: Proxy,
        script: Any,
        direct: Holdfast,
        lost: str,
        act: Act,
        nth: int = 1,
    ) -> None:
        self._half, self._proxy, self._namespace = half, proxy, direct.namespace
        self._act = act
        self._client = half.client(proxy.url, direct.namespace)
        direct.queue(QUEUE).stats()
        _known(direct, script)
        fault = getattr(proxy, lost)(nth, match=script.sha1.encode())
        with pytest.raises(OutcomeUnknown, match="may or may not have been applied") as caught:
            half.do(act(self._client))
        assert fault.fired == 1
        self._error = caught.value
        assert self._error.op_id

    def again(self, way: str) -> Any:
        """Do it once more in one of the documented ways; what it answers."""
        match way:
            case "repeat":
                return self._half.do(self._error.repeat())
            case "op_id":
                return self._half.do(self._act(self._client, op_id=self._error.op_id))
        other = self._half.client(self._proxy.url, self._namespace)
        return self._half.do(self._act(other, op_id=self._error.op_id))


def _known(direct: Holdfast, script: Any) -> None:
    """Make the server know the script, so that the first request is the one that counts."""
    elsewhere = direct.queue("elsewhere")
    match script.name.rpartition("/")[2]:
        case "cancel":
            elsewhere.handle("nothing").cancel()
        case "pause":
            elsewhere.resume()
        case "redefine":
            elsewhere.redefine(capacity=None)
        case "purge":
            elsewhere.purge()


def drain(hf: Holdfast) -> None:
    """Run everything."""
    hf.worker(tasks, concurrency=1).run(until_idle=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lost", LOST)
def test_a_cancellation_counts_once(
    half: Half, proxy: Proxy, direct: Holdfast, lost: str, way: str
) -> None:
    """It answers yes, and leaves a later task of the same id alone."""

    def cancel(hf: Any, **options: Any) -> Any:
        return hf.queue(QUEUE).handle("sale").cancel(**options)

    direct.enqueue(note.call("old").options(task_id="sale"))
    broken = Broken(half, proxy, CANCEL, direct, lost, cancel)
    if lost == "drop_reply":
        assert direct.queue(QUEUE).handle("sale").status().state == "cancelled"
        direct.enqueue(note.call("new").options(task_id="sale"))
    assert broken.again(way) is True
    state = direct.queue(QUEUE).handle("sale").status().state
    assert state == ("queued" if lost == "drop_reply" else "cancelled")
    drain(direct)
    assert ran == (["new"] if lost == "drop_reply" else [])
    assert half.do(cancel(half.client(proxy.url, direct.namespace))) is False


@pytest.mark.parametrize("lost", LOST)
def test_a_cancellation_that_came_too_late_says_so_again(
    half: Half, proxy: Proxy, direct: Holdfast, lost: str
) -> None:
    def cancel(hf: Any, **options: Any) -> Any:
        return hf.queue(QUEUE).handle("sale").cancel(**options)

    direct.enqueue(note.call("old").options(task_id="sale"))
    drain(direct)
    broken = Broken(half, proxy, CANCEL, direct, lost, cancel)
    if lost == "drop_reply":
        direct.enqueue(note.call("new").options(task_id="sale"))
    assert broken.again("repeat") is False
    drain(direct)
    assert ran == (["old", "new"] if lost == "drop_reply" else ["old"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_pause_counts_once(
    half: Half, proxy: Proxy, direct: Holdfast, verb: str, lost: str, way: str
) -> None:
    """Repeated, it does not undo what someone else has decided since."""
    queue = direct.queue(QUEUE)
    if verb == "resume":
        queue.pause()
    undo = queue.resume if verb == "pause" else queue.pause

    def change(hf: Any, **options: Any) -> Any:
        return getattr(hf.queue(QUEUE), verb)(**options)

    broken = Broken(half, proxy, PAUSE, direct, lost, change)
    applied = lost == "drop_reply"
    assert queue.stats().paused == ((verb == "pause") == applied)
    if applied:
        undo()
    assert broken.again(way) is None
    assert queue.stats().paused == ((verb == "pause") != applied)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("capacity", [5, None])
def test_a_redefinition_counts_once(
    half: Half, proxy: Proxy, direct: Holdfast, capacity: int | None, lost: str, way: str
) -> None:
    queue = direct.queue(QUEUE)
    queue.redefine(capacity=7)

    def redefine(hf: Any, **options: Any) -> Any:
        return hf.queue(QUEUE).redefine(capacity=capacity, **options)

    broken = Broken(half, proxy, REDEFINE, direct, lost, redefine)
    assert queue.stats().capacity == (capacity if lost == "drop_reply" else 7)
    if lost == "drop_reply":
        queue.redefine(capacity=9)
    assert broken.again(way) is None
    assert queue.stats().capacity == (9 if lost == "drop_reply" else capacity)


COUNT = 2_300  # three steps
LATER = 20


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("lost", LOST)
def test_a_purge_that_breaks_off_in_any_step_counts_once(
    half: Half, proxy: Proxy, direct: Holdfast, lost: str, nth: int
) -> None:
    direct.enqueue_many([note.call(n) for n in range(COUNT)])
    broken = Broken(half, proxy, PURGE, direct, lost, _purge, nth)
    steps = nth if lost == "drop_reply" else nth - 1
    assert direct.queue(QUEUE).stats().ready == max(0, COUNT - 1000 * steps)
    assert broken.again(WAYS[nth - 1]) == COUNT
    assert direct.queue(QUEUE).stats().ready == 0
    direct.enqueue(note.call("later"))
    assert broken.again("op_id") == COUNT
    assert broken.again("another client") == COUNT
    drain(direct)
    assert ran == ["later"]


def _purge(hf: Any, **options: Any) -> Any:
    return hf.queue(QUEUE).purge(**options)


@pytest.mark.parametrize(
    ("lost", "nth"),
    [("drop_reply", 1), ("drop_reply", 2), ("drop_reply", 3), ("drop_request", 3)],
)
def test_a_purge_drops_no_more_than_there_was_when_it_began(
    half: Half, proxy: Proxy, direct: Holdfast, lost: str, nth: int
) -> None:
    direct.enqueue_many([note.call(n) for n in range(COUNT)])
    broken = Broken(half, proxy, PURGE, direct, lost, _purge, nth)
    direct.enqueue_many([note.call("later") for _ in range(LATER)])
    assert broken.again("repeat") == COUNT
    drain(direct)
    assert ran == ["later"] * LATER


@pytest.mark.parametrize("lost", LOST)
def test_a_purge_of_the_dead_counts_once(
    half: Half, proxy: Proxy, direct: Holdfast, lost: str
) -> None:
    def purge(hf: Any, **options: Any) -> Any:
        return hf.queue(QUEUE).purge(dead=True, **options)

    direct.enqueue_many([fails.call() for _ in range(3)])
    drain(direct)
    broken = Broken(half, proxy, PURGE, direct, lost, purge)
    if lost == "drop_reply":
        direct.enqueue(fails.call())
        drain(direct)
    assert broken.again("repeat") == 3
    eventually(lambda: direct.queue(QUEUE).stats().dead == (lost == "drop_reply"))
