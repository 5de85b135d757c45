"""Whatever a task raises or returns, it gets its retries and its worker goes on."""

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from faults.hostile import KINDS, raising
from faults.servers import Server
from holdfast import Holdfast, Retry, TaskFailed, TaskRegistry

ENDED_S = 60
tasks = TaskRegistry()


def _made(kind: str) -> BaseException:
    return KINDS[kind]()


@tasks.task(queue="hostile", retry=Retry(attempts=2, backoff=0.001))
def plain(kind: str) -> None:
    raise _made(kind)


@tasks.task(queue="hostile", retry=Retry(attempts=2, backoff=0.001))
async def coroutine(kind: str) -> None:
    await asyncio.sleep(0)
    raise _made(kind)


@tasks.task(queue="hostile", retry=Retry(attempts=2, backoff=0.001), timeout=60, ack="now")
def plain_and_urgent(kind: str) -> None:
    raise _made(kind)


@tasks.task(queue="hostile", retry=Retry(attempts=2, backoff=0.001), timeout=60, ack="now")
async def coroutine_and_urgent(kind: str) -> None:
    raise _made(kind)


class Unreadable(msgspec.Struct):
    kind: str

    def __post_init__(self) -> None:
        raise _made(self.kind)


@tasks.task(queue="hostile", retry=Retry(attempts=2, backoff=0.001))
def converts(value: Unreadable) -> None: ...


@dataclass
class Result:
    """A result with a field that raises when it is read."""

    value: Any

    def __getattribute__(self, name: str) -> Any:
        raise _made(object.__getattribute__(self, "__dict__")["value"])


class Cyclic(list[Any]):
    """A result that contains itself."""


def _cycle() -> Any:
    cycle = Cyclic()
    cycle.append(cycle)
    return cycle


RESULTS: dict[str, Callable[[], Any]] = {
    **{kind: lambda kind=kind: Result(kind) for kind in ("GeneratorExit", "name", "SystemExit")},
    "class": type("Hostile", (), {"__class__": property(raising(RuntimeError))}),
    "surrogates": lambda: "\ud800",
    "object": object,
    "number": lambda: float("nan"),
    "cycle": _cycle,
    "exception": KINDS["name"],
}


@tasks.task(queue="hostile")
def returns(kind: str) -> Any:
    return RESULTS[kind]()


@tasks.task(queue="hostile")
async def returns_from_a_coroutine(kind: str) -> Any:
    return RESULTS[kind]()


@tasks.task(queue="hostile")
def harmless() -> str:
    return "done"


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=f"hostile-{secrets.token_hex(4)}") as hf:
        yield hf


def run(hf: Holdfast) -> None:
    """Run all that waits; in a thread, so that the test ends also if the worker does not."""
    errors: list[BaseException] = []

    def serve() -> None:
        try:
            hf.worker(tasks, grace=0).run(until_idle=True)
        except BaseException as error:  # noqa: BLE001 (the test is to see it)
            errors.append(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    thread.join(ENDED_S)
    assert not thread.is_alive(), "the worker hangs"
    assert not errors


RAISING = [plain, coroutine, plain_and_urgent, coroutine_and_urgent]


@pytest.mark.parametrize("task", RAISING, ids=lambda task: task.name.rpartition(".")[2])
def test_whatever_a_task_raises_is_retried(hf: Holdfast, task: Any) -> None:
    handles = {kind: hf.enqueue(task.call(kind)) for kind in KINDS}
    after = hf.enqueue(harmless.call())
    run(hf)
    assert after.result(timeout=0) == "done"
    statuses = {kind: handle.status() for kind, handle in handles.items()}
    found = {kind: (status.state, status.attempts) for kind, status in statuses.items()}
    assert found == dict.fromkeys(KINDS, ("dead", 2))
    for kind, status in statuses.items():
        assert status.reason.startswith("failed: "), (kind, status.reason)
        assert "worker's runner" not in status.reason, (kind, status.reason)
        assert len(status.reason) <= 500
    assert statuses["GeneratorExit"].reason.startswith("failed: GeneratorExit")
    assert statuses["name"].reason == "failed: Hostile"


@pytest.mark.parametrize("kind", ["name", "KeyboardInterrupt", "GeneratorExit", "class"])
def test_whatever_the_conversion_of_an_argument_raises_is_retried(hf: Holdfast, kind: str) -> None:
    """The type of the argument is the user's, and so is what it raises."""
    handle = hf.enqueue(converts.call({"kind": kind}))  # type: ignore[arg-type]
    run(hf)
    status = handle.status()
    assert (status.state, status.attempts) == ("dead", 2)


@pytest.mark.parametrize("task", [returns, returns_from_a_coroutine])
@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_that_cannot_be_stored_is_no_failure(hf: Holdfast, task: Any, kind: str) -> None:
    """The task has done its work: it is done, and the reader of the result gets the reason."""
    handle = hf.enqueue(task.call(kind))
    run(hf)
    status = handle.status()
    assert (status.state, status.attempts) == ("done", 1)
    with pytest.raises(TaskFailed, match="bad-result"):
        handle.result(timeout=0)


class Fault(Exception):
    """What breaks a log record."""


class Breaks(logging.Filter):
    """A log filter of the user's that raises."""

    def filter(self, record: logging.LogRecord) -> bool:
        if "attempt" in record.getMessage():
            raise Fault
        return True


def test_a_log_filter_that_raises_loses_no_settlement(hf: Holdfast) -> None:
    """The record is lost, and the task ends as it would have."""
    logger, breaks = logging.getLogger("holdfast.worker"), Breaks()
    logger.addFilter(breaks)
    try:
        handle, failed = hf.enqueue(harmless.call()), hf.enqueue(plain.call("BaseException"))
        logger.setLevel(logging.DEBUG)
        run(hf)
    finally:
        logger.setLevel(logging.NOTSET)
        logger.removeFilter(breaks)
    assert handle.result(timeout=0) == "done"
    assert (failed.status().state, failed.status().attempts) == ("dead", 2)
