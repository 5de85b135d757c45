"""Tasks of both kinds with steps. Each pair does the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from holdfast import (
    GiveUp,
    PerKey,
    Retry,
    RetryAfter,
    SignalTimeout,
    Snooze,
    TaskRegistry,
    Unique,
    current_task,
)

QUEUE = "orders"

tasks = TaskRegistry()
ran: list[str] = []
"""What each step did, in order."""

failing: set[str] = set()
"""Steps that raise."""


class OutOfStock(Exception):
    """An exception of the application, with an argument."""


@dataclass
class Order:
    item: str
    price: int


def note(what: str) -> str:
    """Do something, and return the id of the step."""
    ran.append(what)
    if what in failing:
        raise OutOfStock(what, 7)
    return current_task().step_id


async def anote(what: str) -> str:
    """Do what `note` does."""
    await asyncio.sleep(0)
    return note(what)


def ordered(item: str) -> Order:
    ran.append("order")
    return Order(item, 97)


@tasks.task(queue=QUEUE, retry=Retry(attempts=3, backoff=0.0))
async def three() -> list[str]:
    """Run three steps, two with the same name."""
    task = current_task()
    return [
        await task.step("reserve", anote, "reserve"),
        await task.step("charge", note, "charge"),
        await task.step("charge", anote, what="ship"),
    ]


@tasks.task(queue=QUEUE, retry=Retry(attempts=3, backoff=0.0))
def three_plain() -> list[str]:
    """Do what `three` does."""
    task = current_task()
    return [
        task.step("reserve", note, "reserve"),
        task.step("charge", note, "charge"),
        task.step("charge", note, what="ship"),
    ]


@tasks.task(queue=QUEUE, retry=Retry(attempts=3, backoff=0.0))
async def fails_after(times: int) -> str:
    """Run a step, and fail in so many attempts."""
    order = await current_task().step("order", ordered, "book")
    assert isinstance(order, Order), order
    if current_task().attempt <= times:
        raise RuntimeError("no")
    return f"{order.item} {order.price}"


@tasks.task(queue=QUEUE, retry=Retry(attempts=3, backoff=0.0))
def fails_after_plain(times: int) -> str:
    """Do what `fails_after` does."""
    order: Order = current_task().step("order", ordered, "book")
    assert isinstance(order, Order), order
    if current_task().attempt <= times:
        raise RuntimeError("no")
    return f"{order.item} {order.price}"


@tasks.task(queue=QUEUE, retry=Retry(attempts=2, backoff=0.0))
async def compensates() -> str:
    """Undo the first step if the second one fails, and fail once after that."""
    task = current_task()
    await task.step("charge", anote, "charge")
    try:
        await task.step("ship", anote, "ship")
    except OutOfStock as error:
        ran.append(str(error.args))
        failing.clear()  # so the step would succeed if it ran again
        await task.step("refund", anote, "refund")
        if task.attempt == 1:
            raise RuntimeError("after the refund") from None
        return "refunded"
    return "shipped"


@tasks.task(queue=QUEUE, retry=Retry(attempts=2, backoff=0.0))
async def handles_any(error: str) -> list[object]:
    """Catch what a step raises, make another step, and fail once after that."""
    task = current_task()
    kinds = {"exit": SystemExit(2), "later": RetryAfter(30.0, "HTTP 429"), "snooze": Snooze(9.0)}
    found: list[object] = []
    try:
        await task.step("call", raises, kinds[error])
    except BaseException as raised:  # noqa: BLE001 (that is what it does)
        found = [type(raised).__name__, str(raised), getattr(raised, "seconds", None)]
        found.append(getattr(raised, "code", None))
    await task.step("note", anote, "note")
    if task.attempt == 1:
        raise RuntimeError("after the note")
    return found


def raises(error: BaseException) -> None:
    """Raise *error*."""
    raise error


@tasks.task(queue=QUEUE)
async def sleeps(seconds: float) -> int:
    """Sleep between two steps. Return the attempt, which is the first one."""
    task = current_task()
    await task.step("before", anote, "before")
    try:
        await task.sleep(seconds=seconds)
    except Exception:  # noqa: BLE001 (it must not catch the suspension)
        ran.append("caught")
    await task.step("after", anote, "after")
    return task.attempt


@tasks.task(queue=QUEUE)
def sleeps_plain(seconds: float) -> int:
    """Do what `sleeps` does."""
    task = current_task()
    task.step("before", note, "before")
    try:
        task.sleep(seconds)
    except Exception:  # noqa: BLE001 (it must not catch the suspension)
        ran.append("caught")
    task.step("after", note, "after")
    return task.attempt


@tasks.task(queue=QUEUE)
async def waits(times: int = 1, timeout: float | None = None) -> list[Any]:
    """Wait for so many signals, and return their values; `late` for one that did not come."""
    found: list[Any] = []
    for _ in range(times):
        ran.append("waits")
        try:
            found.append(await current_task().wait_for("go", timeout))
        except SignalTimeout:
            found.append("late")
    return found


@tasks.task(queue=QUEUE)
def waits_plain(times: int = 1, timeout: float | None = None) -> list[Any]:
    """Do what `waits` does."""
    found: list[Any] = []
    for _ in range(times):
        ran.append("waits")
        try:
            found.append(current_task().wait_for("go", timeout))
        except TimeoutError:
            found.append("late")
    return found


@tasks.task(queue=QUEUE, retry=Retry(attempts=2, backoff=0.0))
async def misuses(how: str) -> None:  # noqa: C901 (one case after the other)
    """Ask for steps in ways that are refused."""
    task = current_task()

    async def inner() -> None:
        await task.step("inner", anote, "inner")

    match how:
        case "inside":
            await task.step("outer", inner)
        case "together":
            await asyncio.gather(inner(), task.step("other", asyncio.sleep, 0.05))
        case "no JSON":
            await task.step("object", object)
        case "too large":
            await task.step("large", lambda: "x" * (2**20 - 1))
        case "full":
            for _ in range(17):  # each as large as allowed
                await task.step("large", lambda: "x" * (2**20 - 2))
        case "annotated":
            await task.step("path", _file)
        case "names":
            await task.step("a#2", note, "a")
        case "many":
            for _ in range(1001):
                await task.step("one", int)
        case "swallows":
            try:
                await task.sleep(minutes=1)
            except BaseException:  # noqa: BLE001 (that is the misuse)
                ran.append("swallowed")


def _file() -> asyncio.Task[None]:
    raise AssertionError("a step with a result that cannot be stored must not run")


@tasks.task(queue=QUEUE, limit=PerKey("customer", concurrency=1))
async def one_per_customer(customer: str, seconds: float) -> None:
    ran.append(f"starts {seconds:g}")
    if seconds:
        await current_task().sleep(seconds)
    ran.append(f"ends {seconds:g}")


@tasks.task(queue=QUEUE, unique=Unique(key=(), until="end", when="replace"))
async def only_one(value: int) -> int:
    await current_task().wait_for("go")
    return value


@tasks.task(queue=QUEUE, retry=Retry(attempts=1))
async def dies() -> str:
    """Run a step, and give up unless it was replayed."""
    await current_task().step("first", anote, "first")
    if "fixed" not in ran:
        raise GiveUp("not yet")
    return await current_task().step("second", anote, "second")


@tasks.task(queue=QUEUE)
async def no_json() -> list[Any]:
    """Return the results of two steps. That of the second one cannot be stored at first."""
    task = current_task()
    return [await task.step("first", anote, "first"), await task.step("second", no_json_result)]


@tasks.task(queue=QUEUE)
def no_json_plain() -> list[Any]:
    """Do what `no_json` does."""
    task = current_task()
    return [task.step("first", note, "first"), task.step("second", no_json_result)]


def no_json_result() -> Any:
    return {"socket": object()} if "second" in failing else 7


cpu_tasks = TaskRegistry()
"""A worker with tasks for child processes starts one, which takes a while."""


@cpu_tasks.task(queue=QUEUE, cpu=True)
def on_a_core() -> None:
    current_task().step("no", int)


def changed(names: list[str]) -> TaskRegistry:
    """Return a registry in which `evolves` asks for steps with these names."""
    registry = TaskRegistry()

    @registry.task(queue=QUEUE, retry=Retry(attempts=2, backoff=0.0))
    async def evolves() -> str:
        for name in names:
            if name == "fail":
                raise GiveUp("stop here")
            await current_task().step(name, anote, name)
        return "done"

    return registry
