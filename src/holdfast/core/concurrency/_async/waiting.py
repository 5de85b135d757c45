"""Waiting, exclusion and batching on asyncio. Hand-written twin of `_sync.py`."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Generic, TypeVar

from ..detached_thread import detached
from ..event_loop import new_loop
from ..fork_hooks import register_after_fork

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

Cancelled = asyncio.CancelledError
Gate = asyncio.Semaphore
Mutex = asyncio.Lock
Running = asyncio.Task
sleep = asyncio.sleep

LEFTOVER_S = 1.0
"""How long the end of a loop waits for tasks that ignore their cancellation."""


def run_loop(work: Coroutine[Any, Any, None]) -> None:
    """Do *work* in a loop of its own; as `asyncio.run`, but what it leaves is not waited for."""
    loop = new_loop()
    asyncio.set_event_loop(loop)
    main = loop.create_task(work)
    try:
        loop.run_until_complete(main)
    finally:
        if not main.done():  # interrupted: it ends in its own time
            main.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(main)
        loop.run_until_complete(_tidy())
        asyncio.set_event_loop(None)
        loop.close()


async def _tidy() -> None:
    """Cancel what is left of a loop, and give it a moment."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    generators = asyncio.get_running_loop().shutdown_asyncgens()
    await ended([*left, spawn(generators, "holdfast generators")], LEFTOVER_S)


def time_limit(seconds: float) -> asyncio.Timeout:
    """A context that ends its body with TimeoutError after *seconds*."""
    return asyncio.timeout(seconds)


async def notice() -> None:
    """Let the loop see what has arrived meanwhile, such as the end of a connection."""
    # The first turn polls the sockets, the second runs what they had to say.
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def soon(function: Callable[..., object], *args: Any) -> None:
    """Call *function* in the next turn of the loop."""
    asyncio.get_running_loop().call_soon(function, *args)


class Local(Generic[Item]):
    """One thing for each loop that asks for it, which must not be used in another one.

    Args:
        make: makes one.
    """

    def __init__(self, make: Callable[[], Item]) -> None:
        self._make = make
        self._things: dict[asyncio.AbstractEventLoop, Item] = {}
        self._inherited: list[object] = []
        register_after_fork(self)

    def here(self) -> Item:
        """That of the loop which runs here."""
        loop = asyncio.get_running_loop()
        thing = self._things.get(loop)
        return self._made(loop) if thing is None else thing

    def taken(self) -> Item | None:
        """That of the loop which runs here, if there is one; the next to ask gets another."""
        return self._things.pop(asyncio.get_running_loop(), None)

    def dismiss(self, let_go: Callable[[Item], object]) -> bool:
        """Take all, and have each loop *let_go* of its own. Takes no lock.

        Returns:
            Whether there were any, in loops that are not closed.
        """
        things, self._things = self._things, {}
        told = False
        for loop, thing in things.items():
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(let_go, thing)
                told = True
        return told

    def after_fork(self) -> None:
        """Have none, in a forked child; but to let go of its parent's might do the parent harm."""
        self._inherited.append(self._things)
        self._things = {}

    def _made(self, loop: asyncio.AbstractEventLoop) -> Item:
        for other in [each for each in list(self._things) if each.is_closed()]:
            self._things.pop(other, None)
        return self._things.setdefault(loop, self._make())


class Event:
    """A flag that any thread may raise, for which the tasks of one loop wait."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def set(self) -> None:
        """Raise the flag. Harmless when its loop is gone: then nobody waits."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._event.set()
        else:
            self.set_from_handler()

    def set_from_handler(self) -> None:
        """Raise the flag from a signal handler: it interrupts the loop, which must be woken."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._event.set)

    def clear(self) -> None:
        """Lower the flag."""
        self._event.clear()

    def is_set(self) -> bool:
        """Whether the flag is up."""
        return self._event.is_set()

    async def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is up, at most *timeout_s* (None: for ever). True when it is."""
        if self._event.is_set():
            return True
        try:
            async with asyncio.timeout(timeout_s):
                return await self._event.wait()
        except TimeoutError:
            return self._event.is_set()


class AutoResetEvent(Event):
    """A flag for one who waits, which the end of the wait lowers."""

    async def wait(self, timeout_s: float | None) -> bool:
        """Wait until the flag is up, at most *timeout_s* (None: for ever), and lower it."""
        if not await super().wait(timeout_s):
            return False
        self.clear()
        return True


class CallbackRunner:
    """Runs callbacks of the user where they disturb nobody: in the loop that made this."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def run(self, function: Callable[[], object]) -> None:
        """Call *function* soon. From any thread; harmless when the loop is gone."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function)


class CancelScope:
    """Cancels what the task that makes it does from now on, if `revoke` is called before `end`."""

    __slots__ = ("_before", "_cancelled", "_ended", "_loop", "_task")

    def __init__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only what a task does can be cancelled")
        self._loop = task.get_loop()  # on Python 3.11 to ask for the running one is a system call
        self._task = task
        self._before = task.cancelling()
        self._cancelled = False
        self._ended = False

    def revoke(self) -> None:
        """Cancel it, if it still goes on. From any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._cancel)

    def end(self, error: BaseException | None) -> bool:
        """It has ended, by *error* or well: whether by being revoked, and by nothing else."""
        self._ended = True
        if not self._cancelled:
            return False
        # As `asyncio.timeout` does: somebody else may have cancelled the task as well.
        others = self._task.uncancel() > self._before
        return isinstance(error, asyncio.CancelledError) and not others

    def _cancel(self) -> None:
        if not self._ended and not self._cancelled:
            self._cancelled = True
            self._task.cancel()


def spawn(work: Coroutine[Any, Any, Item], name: str) -> asyncio.Task[Item]:
    """Start *work* beside the caller. Whoever spawns keeps the task, or it may vanish."""
    return asyncio.get_running_loop().create_task(work, name=name)


class BackgroundTask(Generic[Item]):
    """Work that goes on beside the caller, who asks for its outcome later."""

    def __init__(self, work: Callable[..., Coroutine[Any, Any, Item]], *args: Any) -> None:
        self._task = spawn(work(*args), "holdfast beside")

    async def outcome(self) -> Item:
        """Wait for its end; what it returns, or raises."""
        return await self._task

    async def end(self) -> None:
        """Have it end soon, whatever comes of it, and wait for that."""
        await cancelled(self._task)


_seen_through: set[asyncio.Task[Any]] = set()


async def seen_through(work: Coroutine[Any, Any, Item]) -> Item:
    """Do *work* to its end, also when the caller is cancelled once more while it waits."""
    task = spawn(work, "holdfast clean-up")
    _seen_through.add(task)
    task.add_done_callback(_seen_through.discard)
    return await asyncio.shield(task)


async def in_full(work: Callable[[], Coroutine[Any, Any, Item]]) -> Item:
    """Do *work*, and return or raise only after its end, also when the caller is cancelled."""
    task, revoked = spawn(work(), "holdfast end"), False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            revoked = True
    if revoked and not task.cancelled():
        task.exception()  # nobody else asks for it
        raise asyncio.CancelledError
    return task.result()


async def shielded(function: Callable[..., Coroutine[Any, Any, Item]], *args: Any) -> Item:
    """Return what *function* returns, which also ends if the caller is cancelled here."""
    return await seen_through(function(*args))


def afterwards(function: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Run *function* in the loop that runs here, soon, and not at all if none runs."""
    with contextlib.suppress(RuntimeError):
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: spawn(seen_through(function()), "holdfast clean-up"))


async def ended(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> None:
    """Wait until *tasks* have ended, for so long at most."""
    if left := set(tasks):
        await asyncio.wait(left, timeout=seconds)


async def cancelled(*tasks: asyncio.Task[Any]) -> None:
    """Cancel *tasks* and wait until they have ended; how they end does not matter."""
    left = set(tasks)
    while left:  # on Python 3.11 `asyncio.wait_for` may swallow a cancellation
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=0.05)


async def together(*work: Coroutine[Any, Any, Any]) -> None:
    """Run all of *work* at once. When one part fails, cancel the others and raise its exception.

    A part that was cancelled though nobody cancelled the caller has failed as well.
    """
    tasks = [asyncio.ensure_future(part) for part in work]
    left, failed = set(tasks), list[asyncio.Task[Any]]()
    try:
        while left and not failed:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            failed = [task for task in done if task.cancelled() or task.exception() is not None]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in failed:
        task.result()


def being_cancelled() -> bool:
    """Whether someone asked the task that runs here to stop."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def current_running() -> Running[Any] | None:
    """Return the task that runs here."""
    return asyncio.current_task()


def is_current(task: Running[Any] | None) -> bool:
    """Return whether *task* runs here; not so while its coroutine is closed from outside of it."""
    try:
        return asyncio.current_task() is task
    except RuntimeError:  # no loop runs here
        return False


class Block:
    """A context that holds something while a block runs.

    Attributes:
        held: what the block holds.
    """

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held: list[Any] = []


class BlockEnd:
    """The `__aexit__` of a `Block`: a function of what the block holds, and of the exception."""

    def __init__(self, function: Callable[..., Coroutine[Any, Any, None]]) -> None:
        self._function = function

    def __get__(
        self, block: Block | None, owner: type[Block]
    ) -> Callable[..., Coroutine[Any, Any, None]]:
        if block is None:  # `AsyncExitStack` asks the class
            return lambda block, *error: self._function(block.held, *error)
        return partial(self._function, block.held)


def at_construction(check: Callable[[], Awaitable[None]]) -> None:
    """Make a *check* that asks the server, where nothing has to be awaited for it: not here."""
    del check


async def in_thread(function: Callable[..., Item], *args: Any) -> Item:
    """Run a blocking *function* without blocking the loop."""
    return await asyncio.to_thread(function, *args)


async def in_time(seconds: float, function: Callable[..., Any], *args: Any, left: set[Any]) -> Any:
    """What a *function* of the user's returns, async or plain, if it does so in time.

    A plain one runs in a thread of its own. When the time is over, or the caller is cancelled, it
    is left to itself: a thread runs on, a coroutine is cancelled, and nobody waits until it heeds.

    Args:
        seconds: which it has.
        function: the user's.
        args: its arguments.
        left: holds one thing for each call that was left to itself, until that has ended.

    Raises:
        TimeoutError: it takes longer.
    """
    outcome: asyncio.Future[Any]
    if inspect.iscoroutinefunction(function):
        work: Any = spawn(function(*args), "holdfast load")
        outcome = work
    else:
        work = detached(function, *args)
        outcome = asyncio.wrap_future(work)
    try:
        await asyncio.wait([outcome], timeout=seconds)
        if not outcome.done():
            raise TimeoutError
        return outcome.result()
    finally:
        if not outcome.done():
            left.add(work)
            work.add_done_callback(left.discard)
            outcome.add_done_callback(_ignored)
            outcome.cancel()


def _ignored(outcome: asyncio.Future[Any]) -> None:
    """Nobody waits for *outcome* any more, so its error is nobody's."""
    if not outcome.cancelled():
        outcome.exception()


def runs_here(function: Callable[..., Any]) -> bool:
    """Whether `in_time` can run *function*: here, whatever it is."""
    return callable(function)
