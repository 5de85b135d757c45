"""An exception inside a worker's own loop: `run` ends with it, and its tasks are given back."""

import asyncio
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from faults.servers import Server
from faults.waiting import eventually
from holdfast import AsyncHoldfast, Holdfast, TaskRegistry
from holdfast.core.maxmemory import MaxmemoryCheck
from holdfast.core.notifier import Notifier
from holdfast.core.renewer import Renewer
from holdfast.queues.worker.claimer import Claimer
from holdfast.queues.worker.executions import Executions
from holdfast.queues.worker.fair_share import FairShare
from holdfast.queues.worker.heartbeat import Heartbeat
from holdfast.queues.worker.held_claims import HeldClaims
from holdfast.queues.worker.step_sender import StepSender

ENDED_S = 30
tasks = TaskRegistry()
began: list[str] = []
gate = threading.Event()


@tasks.task(queue="broken")
async def lasts() -> None:
    began.append("lasts")
    await asyncio.Event().wait()


@tasks.task(queue="broken")
def lasts_in_a_thread() -> None:
    began.append("lasts in a thread")
    gate.wait(ENDED_S)


@tasks.task(queue="broken", ack="now")
async def acks_at_once() -> None:
    began.append("acks at once")


@tasks.task(queue="broken", timeout=0.05)
def overdue() -> None:
    began.append("overdue")
    gate.wait(1)


@tasks.task(queue="elsewhere")
async def lasts_elsewhere() -> None:
    began.append("lasts elsewhere")
    await asyncio.Event().wait()


class Broken(Exception):
    """What goes wrong."""


class Ended(BaseException):
    """An error that `except Exception` does not catch."""


PLACES: dict[str, tuple[Any, str]] = {
    "a step": (Claimer, "step"),
    "an answer": (StepSender, "answered"),
    "a claim that is kept": (HeldClaims, "keep"),
    "a claim that begins": (Claimer, "started"),
    "a claim that ends": (Claimer, "finished"),
    "a settlement that is sent": (Claimer, "settle"),
    "a settlement that is answered": (Claimer, "_settled"),
    "a look for tasks": (Claimer, "may_find_tasks"),
    "a wait": (Claimer, "wait"),
    "the slots": (FairShare, "answered"),
    "a free slot": (FairShare, "release"),
    "a free thread": (FairShare, "hold_back"),
    "the next queue": (FairShare, "next"),
    "a start": (Executions, "start"),
    "an end": (Executions, "_end"),
    "the heartbeat": (Heartbeat, "_publish"),
    "the check of the server": (MaxmemoryCheck, "check"),
    "a lease": (Renewer, "keep"),
}


BESIDE = {"the heartbeat", "the check of the server"}
"""Work beside the loop, every ten seconds."""

CANCELLABLE = {*BESIDE, "a settlement that is sent", "a settlement that is answered"}
"""Parts in which a cancellation means that the worker ends, or affects only work beside it."""


@pytest.fixture
def namespace() -> Iterator[str]:
    began.clear()
    gate.clear()
    yield f"broken-{secrets.token_hex(4)}"
    gate.set()


@pytest.fixture
def hf(standalone: Server, namespace: str) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


def run_sync(url: str, namespace: str, **how: Any) -> None:
    with Holdfast.from_url(url, namespace=namespace) as hf:
        hf.worker(tasks, queues={"broken": 1, "elsewhere": 1}, lease=3600.0).run(**how)


def run_async(url: str, namespace: str, **how: Any) -> None:
    async def run() -> None:
        async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
            await hf.worker(tasks, queues={"broken": 1, "elsewhere": 1}, lease=3600.0).run(**how)

    asyncio.run(run())


def outcome(run: Callable[..., None], *args: Any, **how: Any) -> list[BaseException]:
    """Return a list that gets what *run* ends with, in a thread that may hang."""
    raised: list[BaseException] = []

    def serve() -> None:
        try:
            run(*args, **how)
        except BaseException as error:  # noqa: BLE001 (the test is to see it)
            raised.append(error)
        else:
            raised.append(AssertionError("it ended well"))

    threading.Thread(target=serve, daemon=True).start()
    return raised


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (place, kind)
        for place in PLACES
        for kind in (Broken, Ended, asyncio.CancelledError)
        if kind is not asyncio.CancelledError or place not in CANCELLABLE
    ],
)
def test_a_worker_ends_with_what_breaks_its_loop(
    standalone: Server,
    namespace: str,
    hf: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    kind: type[BaseException],
) -> None:
    one_half = (list(PLACES).index(place) + issubclass(kind, Exception)) % 2
    run, until_idle = [run_sync, run_async][one_half], kind is Broken
    calls = [lasts.call(), lasts_in_a_thread.call(), lasts_elsewhere.call()]
    hf.enqueue_many(calls)
    breaks = threading.Event()
    _break(monkeypatch, *PLACES[place], kind, breaks)
    if place not in BESIDE:
        raised = outcome(run, standalone.url, namespace, until_idle=until_idle)
        eventually(lambda: len(began) == len(calls))
        breaks.set()
        hf.enqueue(overdue.call())
        hf.enqueue(acks_at_once.call())
    else:
        breaks.set()
        raised = outcome(run, standalone.url, namespace, until_idle=until_idle)
    eventually(lambda: raised, ENDED_S, reason="the worker ends")
    assert [type(error) for error in raised] == [kind]
    for queue in ("broken", "elsewhere"):
        stats = hf.queue(queue).stats()
        assert (stats.running, stats.dead) == (0, 0)
    assert hf.workers() == []


def _break(
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    kind: type[BaseException],
    breaks: threading.Event,
) -> None:
    whole = getattr(owner, name)

    def broken(*args: Any, **options: Any) -> Any:
        if breaks.is_set():
            breaks.clear()
            raise kind
        return whole(*args, **options)

    monkeypatch.setattr(owner, name, broken)


@pytest.mark.parametrize("run", [run_sync, run_async])
@pytest.mark.parametrize("owner", [Renewer, Notifier])
def test_a_worker_closes_the_rest_when_a_part_of_it_cannot_be_closed(
    standalone: Server,
    namespace: str,
    hf: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[..., None],
    owner: Any,
) -> None:
    breaks = threading.Event()
    breaks.set()
    whole = owner.close

    def close(self: Any) -> None:
        whole(self)
        if threading.current_thread() is not threading.main_thread() and breaks.is_set():
            breaks.clear()
            raise Broken

    monkeypatch.setattr(owner, "close", close)
    raised = outcome(run, standalone.url, namespace, until_idle=True)
    eventually(lambda: raised, ENDED_S, reason="the worker ends")
    assert [type(error) for error in raised] == [Broken]
    assert hf.workers() == []
