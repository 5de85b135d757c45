"""Plain functions in threads: what comes back, what a cancellation stops, what it never touches."""

import asyncio
import gc
import random
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any

import pytest

from core.interpreter_lock import needs_gil
from holdfast.core.concurrency.detached_thread import start_thread
from holdfast.core.concurrency.thread_pool import Interrupted, Threads

PATIENCE_S = 30.0  # against hanging only
NAME = "pool of a test"

word: ContextVar[str] = ContextVar("word", default="none")


def alive() -> list[threading.Thread]:
    """Return the threads of the pools of this file."""
    return [thread for thread in threading.enumerate() if thread.name.startswith(NAME)]


def all_ended() -> None:
    """Wait until no pool of this file has a thread left."""
    for thread in alive():
        thread.join(PATIENCE_S)
    assert alive() == []


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Check after each test that no thread of a closed pool is left."""
    yield
    all_ended()


@asynccontextmanager
async def pool(limit: int, on_freed: Callable[[], None] | None = None) -> AsyncIterator[Threads]:
    """Yield a pool of threads, and close it at the end."""
    threads = Threads(limit, NAME, on_freed=on_freed)
    try:
        yield threads
    finally:
        threads.close()


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 (what is waited for is of another thread)
            await asyncio.sleep(0.001)


async def settled(threads: Threads) -> None:
    """Wait until nothing runs."""
    await until(lambda: threads.busy == threads.abandoned == 0)


def raising(error: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


class Endless:
    """A function that runs until it is interrupted, and then until it is let go."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.rounds = 0
        self.interrupted = threading.Event()
        self.let_go = threading.Event()

    def __call__(self) -> str:
        try:
            self.began.set()
            while True:
                self.rounds += 1
                time.sleep(0.001)
        except Interrupted:
            self.interrupted.set()
            self.let_go.wait(PATIENCE_S)
        return "nobody hears this"


async def test_a_function_runs_elsewhere_and_its_result_comes_back() -> None:
    async with pool(2) as threads:
        thread = await threads.run(threading.current_thread)
        assert thread is not threading.current_thread()
        assert thread.name == f"{NAME} 1"
        assert thread.daemon
        assert threads.busy == threads.abandoned == 0


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError("own")],
    ids=repr,
)
async def test_what_a_function_raises_is_raised_to_its_caller(error: BaseException) -> None:
    """The very same object, and the thread lives on."""
    async with pool(1) as threads:
        with pytest.raises(type(error)) as raised:
            await threads.run(raising(error))
        assert raised.value is error
        assert await threads.run(lambda: "next") == "next"
        assert len(alive()) == 1


async def test_a_stop_iteration_becomes_a_runtime_error() -> None:
    async with pool(1) as threads:
        with pytest.raises(RuntimeError, match="StopIteration") as raised:
            await threads.run(raising(StopIteration(5)))
        assert isinstance(raised.value.__cause__, StopIteration)


async def test_a_function_runs_in_a_copy_of_its_callers_context() -> None:
    """It reads what the caller set; what it sets stays with it."""

    def swap() -> str:
        before = word.get()
        word.set("changed")
        return before

    async with pool(1) as threads:
        word.set("mine")

        assert await threads.run(swap) == "mine"
        assert await threads.run(swap) == "mine"
        assert word.get() == "mine"


async def test_a_thread_is_started_only_when_none_is_idle() -> None:
    async with pool(8) as threads:
        for _ in range(20):
            await threads.run(lambda: None)
        assert len(alive()) == 1
        meeting = threading.Barrier(3)
        await asyncio.gather(*(threads.run(lambda: meeting.wait(PATIENCE_S)) for _ in range(3)))
        assert len(alive()) == 3


async def test_no_more_run_at_once_than_the_limit() -> None:
    running: set[int] = set()
    most = 0
    order: list[int] = []

    def function(number: int) -> None:
        nonlocal most
        running.add(number)
        order.append(number)
        most = max(most, len(running))
        time.sleep(0.001)
        running.discard(number)

    async with pool(3) as threads:
        await asyncio.gather(*(threads.run(lambda n=n: function(n)) for n in range(60)))  # type: ignore[misc]

        assert most <= 3
        assert len(alive()) == 3
    async with pool(1) as threads:
        order.clear()
        await asyncio.gather(*(threads.run(lambda n=n: function(n)) for n in range(60)))  # type: ignore[misc]
        assert order == list(range(60))


async def test_a_function_that_has_not_begun_never_does() -> None:
    freed: list[None] = []
    ran: list[str] = []
    gate = threading.Event()
    async with pool(1, lambda: freed.append(None)) as threads:
        first = asyncio.create_task(threads.run(lambda: gate.wait(PATIENCE_S)))
        second = asyncio.create_task(threads.run(lambda: ran.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert threads.busy == 1
        assert threads.abandoned == 0
        gate.set()

        assert await first
        await threads.run(lambda: ran.append("third"))
        assert ran == ["third"]
        assert freed == []


@needs_gil  # The place is not known.
async def test_a_running_function_is_interrupted_and_keeps_its_place_until_it_ends() -> None:
    freed: list[tuple[int, int]] = []
    endless = Endless()
    async with pool(1, lambda: freed.append((threads.busy, threads.abandoned))) as threads:
        task = asyncio.create_task(threads.run(endless))
        await until(lambda: endless.rounds > 0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        [note] = cancelled.value.__notes__
        assert note.count("File ") == note.count(f'File "{__file__}"') == 1
        assert note.splitlines()[1].endswith(" in __call__")
        await until(endless.interrupted.is_set)
        following = asyncio.create_task(threads.run(lambda: "following"))
        await asyncio.sleep(0.01)

        assert not following.done()
        assert (threads.busy, threads.abandoned, freed) == (1, 1, [])
        endless.let_go.set()
        assert await following == "following"
        await settled(threads)
        assert freed in ([(1, 0)], [(0, 0)])


async def test_a_time_limit_interrupts() -> None:
    """`asyncio.timeout` raises its TimeoutError, the function gets its interruption."""
    endless = Endless()
    endless.let_go.set()
    async with pool(1) as threads:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await threads.run(endless)
        await settled(threads)
        assert endless.interrupted.is_set() == endless.began.is_set()


async def test_a_call_that_blocks_ends_before_its_interruption_comes() -> None:
    """It does not come to the function that runs in the thread afterwards."""
    began, gate = threading.Event(), threading.Lock()
    after: list[str] = []

    def blocked() -> None:
        began.set()
        gate.acquire()
        after.append("Python again")
        for _ in range(1000):
            pass
        after.append("not interrupted")

    async with pool(1) as threads:
        gate.acquire()
        task = asyncio.create_task(threads.run(blocked))
        await until(began.is_set)
        task.cancel()
        calls = (threads.run(lambda: sum(range(1000))) for _ in range(20))
        following = [asyncio.create_task(call) for call in calls]
        await until(lambda: threads.abandoned == 1)
        gate.release()
        results = await asyncio.gather(task, *following, return_exceptions=True)

        assert isinstance(results[0], asyncio.CancelledError)
        assert results[1:] == [499_500] * 20
        assert "not interrupted" not in after


@pytest.mark.parametrize("end", [ValueError("late"), SystemExit(1), Interrupted()], ids=repr)
async def test_the_outcome_of_an_abandoned_function_is_dropped(end: BaseException) -> None:
    began = threading.Event()

    def stubborn() -> None:
        try:
            began.set()
            while True:
                time.sleep(0.001)
        except Interrupted:
            raise end from None

    async with pool(1) as threads:
        task = asyncio.create_task(threads.run(stubborn))
        await until(began.is_set)
        thread = alive()[0]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await threads.run(threading.current_thread) is thread


async def test_a_caller_that_is_thrown_away_abandons_its_function() -> None:
    """A coroutine may be closed instead of cancelled."""
    endless = Endless()
    endless.let_go.set()
    async with pool(1) as threads:
        call = threads.run(endless)
        call.send(None)
        await until(endless.began.is_set)
        call.close()
        await settled(threads)
        assert endless.interrupted.is_set()


@needs_gil  # A thread frees its objects only when it runs again.
async def test_an_error_is_freed_without_the_garbage_collector() -> None:
    class Large(Exception):
        pass

    async def fail(threads: Threads) -> weakref.ref[Large]:
        def function() -> None:
            raise Large

        try:
            await threads.run(function)
        except Large as error:
            return weakref.ref(error)
        raise AssertionError

    async with pool(1) as threads:
        gc.disable()
        try:
            error = await fail(threads)
            await until(lambda: error() is None)
        finally:
            gc.enable()


@needs_gil  # A thread frees its objects only when it runs again.
async def test_a_result_is_freed_by_an_idle_thread() -> None:
    """A thread that waits for work holds nothing of the last one."""

    class Large:
        pass

    async with pool(1) as threads:
        result = weakref.ref(await threads.run(Large))
        await until(lambda: result() is None)


async def test_closed_threads_take_no_work_but_finish_what_they_have() -> None:
    """Idle threads end, busy ones after their functions; closing again does nothing."""
    gate = threading.Event()
    meeting = threading.Barrier(3)
    async with pool(3) as threads:
        await asyncio.gather(*(threads.run(lambda: meeting.wait(PATIENCE_S)) for _ in range(3)))
        first = asyncio.create_task(threads.run(lambda: gate.wait(PATIENCE_S)))
        await asyncio.sleep(0)
        threads.close()
        threads.close()
        with pytest.raises(RuntimeError, match="closed"):
            await threads.run(lambda: None)
        await until(lambda: len(alive()) == 1)
        assert not first.done()
        gate.set()

        assert await first
        all_ended()


async def test_what_was_accepted_before_the_close_still_runs() -> None:
    async with pool(2) as threads:
        calls = [asyncio.create_task(threads.run(lambda n=n: n)) for n in range(50)]  # type: ignore[misc]
        await asyncio.sleep(0)
        threads.close()
        assert await asyncio.gather(*calls) == list(range(50))


async def test_threads_have_a_limit() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Threads(0, NAME)


def test_functions_may_outlive_their_loop() -> None:
    endless = Endless()
    gate = threading.Event()
    quiet = threading.Event()

    def patient() -> None:
        quiet.set()
        gate.wait(PATIENCE_S)

    async def leave() -> None:
        async with pool(3) as threads:
            tasks = [asyncio.create_task(threads.run(work)) for work in (endless, patient)]
            await until(lambda: endless.began.is_set() and quiet.is_set())
            del tasks  # `asyncio.run` cancels them

    asyncio.run(leave())
    assert len(alive()) == 2
    endless.let_go.set()
    gate.set()
    all_ended()


def test_a_process_ends_though_a_function_hangs() -> None:
    program = """
import asyncio, threading, time
from holdfast.core.concurrency.thread_pool import Threads

async def main():
    threads = Threads(4, "hung")
    began = threading.Event()
    def hang():
        began.set()
        time.sleep(3600)
    task = asyncio.create_task(threads.run(hang))
    await threads.run(began.wait)
    task.cancel()
    threads.close()

asyncio.run(main())
print("over")
"""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S * 2,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "over\n", "")


class Trap:
    """Halts its thread at the *number*th of the next calls: it calls *act* and waits until `done`.

    Before and after calls is where the interpreter looks for interruptions. So every place where a
    race could be lost is visited, not only those that chance finds.
    """

    def __init__(self, number: int, act: Callable[[], object], *, swallow: bool) -> None:
        self._left = number
        self._act = act
        self._swallow = swallow
        self.done = False
        self.sprung = False

    def set(self) -> None:
        """Follow this thread from here on."""
        sys.setprofile(self._look)

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in {"call", "c_call", "c_return"}:
            self._left -= 1
            if self._left == 0:
                self.sprung = True
                try:
                    self._act()
                    self._wait()
                except Interrupted:
                    self._wait()
                    if not self._swallow:
                        raise  # into the frame that is looked at

    def _wait(self) -> None:
        while not self.done:  # an interrupted wait for an Event may leave a lock behind
            time.sleep(0.0005)


def plain() -> str:
    return "mine"


def failing() -> str:
    raise ValueError("mine")


def exhausted() -> str:
    raise StopIteration


def swallowing() -> str:
    try:
        for _ in range(3):
            word.set("mine")
    except BaseException:  # noqa: BLE001 (it does not let the interruption pass)
        pass
    return "mine"


# The collector may run in the thread at that moment, and Python reports what a finalizer swallows.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("swallow", [False, True], ids=["raised", "swallowed by a finalizer"])
@pytest.mark.parametrize("function", [plain, failing, exhausted, swallowing])
async def test_an_interruption_at_any_moment_stays_with_its_function(
    function: Callable[[], str],
    swallow: bool,
) -> None:
    """Cancelled at every moment, from one function to the next: all others are well."""
    loop = asyncio.get_running_loop()
    freed: list[None] = []
    abandoned = moments = 0
    async with pool(1, lambda: freed.append(None)) as threads:
        thread = await threads.run(threading.current_thread)
        sprung = True
        while sprung:
            moments += 1
            victim: asyncio.Task[str]
            trap = Trap(
                moments,
                lambda: loop.call_soon_threadsafe(victim.cancel),  # noqa: B023
                swallow=swallow,
            )
            setter = asyncio.create_task(threads.run(trap.set))
            victim = asyncio.create_task(threads.run(function))
            following = [asyncio.create_task(threads.run(lambda n=n: n)) for n in range(3)]  # type: ignore[misc]
            (ended,) = await asyncio.gather(victim, return_exceptions=True)
            abandoned += threads.abandoned
            trap.done = True

            assert await asyncio.gather(setter, *following) == [None, 0, 1, 2]
            assert (
                isinstance(ended, asyncio.CancelledError)
                or "mine" in repr(ended)
                or "StopIteration" in repr(ended)
            )
            await threads.run(lambda: sys.setprofile(None))
            sprung = trap.sprung
        await settled(threads)
        await until(lambda: len(freed) == abandoned)

        assert moments > abandoned > 3
        assert alive() == [thread]
        assert await threads.run(threading.current_thread) is thread


async def test_an_interruption_that_is_not_sent_yet_is_waited_for() -> None:
    """The function ends while the loop stands between its decision and the interruption."""
    began = threading.Event()
    gate = threading.Event()

    def look(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_return" and frame.f_code.co_name == "_abandon":
            sys.setprofile(None)
            gate.set()
            time.sleep(0.05)  # the thread would run the following functions meanwhile

    def function() -> None:
        began.set()
        gate.wait(PATIENCE_S)

    async with pool(1) as threads:
        for _ in range(10):
            began.clear()
            gate.clear()
            task = asyncio.create_task(threads.run(function))
            await until(began.is_set)
            following = asyncio.create_task(threads.run(lambda: time.sleep(0.1)))
            await asyncio.sleep(0)
            task.cancel()
            sys.setprofile(look)
            try:
                await asyncio.wait([task])
            finally:
                sys.setprofile(None)

            assert task.cancelled()
            assert gate.is_set()
            await following
        assert len(alive()) == 1


AT_ONCE = 50
PLACES = 16


class Storm:
    """Functions of all kinds, half of them cancelled at random moments."""

    def __init__(self, threads: Threads, dice: random.Random, jobs: int) -> None:
        self._jobs = jobs
        self._threads = threads
        self._dice = dice
        self.interrupted: set[int] = set()
        self.cancelled: set[int] = set()
        self.wrong: list[object] = []

    async def calls(self, first: int) -> None:
        for number in range(first, self._jobs, AT_ONCE):
            kind = self._dice.randrange(4)
            call = self._threads.run(lambda n=number, k=kind: self._function(n, k))  # type: ignore[misc]
            task = asyncio.create_task(call)
            if self._dice.random() < 0.5:
                await self._moment()
                task.cancel()
            await asyncio.wait([task])
            if task.cancelled():
                self.cancelled.add(number)
            elif (error := task.exception()) is not None:
                if kind != 3 or error.args != (number,):
                    self.wrong.append((number, error))
            elif kind == 3 or task.result() != number:
                self.wrong.append((number, task.result()))

    async def _moment(self) -> None:
        if self._dice.random() < 0.3:
            await asyncio.sleep(self._dice.random() * 0.001)
        else:
            for _ in range(self._dice.randrange(6)):
                await asyncio.sleep(0)

    def _function(self, number: int, kind: int) -> int:
        try:
            if kind == 1:
                time.sleep(0.0002)
            elif kind == 2:
                sum(n for n in range(500))
            elif kind == 3:
                raise ValueError(number)
        except Interrupted:
            self.interrupted.add(number)
            if number % 2:
                raise
        return number


@pytest.mark.parametrize("jobs", [4_000, pytest.param(20_000, marks=pytest.mark.long)])
async def test_nothing_crosses_in_a_storm_of_cancellations(seed: int, jobs: int) -> None:
    """Half of many functions are cancelled: no other notices, and no thread is lost."""
    freed: list[None] = []
    async with pool(PLACES, lambda: freed.append(None)) as threads:
        storm = Storm(threads, random.Random(seed), jobs)
        await asyncio.gather(*map(storm.calls, range(AT_ONCE)))
        await settled(threads)

        assert storm.wrong == []
        assert storm.interrupted <= storm.cancelled
        assert len(storm.cancelled) > jobs // 10, "too few cancellations hit a call under way"
        assert len(freed) > jobs // 1000, "too few functions were interrupted"
        meeting = threading.Barrier(PLACES)
        calls = (threads.run(lambda: meeting.wait(PATIENCE_S)) for _ in range(PLACES))
        assert sorted(await asyncio.gather(*calls)) == list(range(PLACES))
        assert len(alive()) == PLACES


def test_a_started_thread_has_an_empty_context() -> None:
    """Free-threaded Python gives other threads a copy of the context."""
    seen: list[str] = []
    reset = word.set("mine")
    start_thread(lambda: seen.append(word.get()), NAME).join()
    word.reset(reset)
    assert seen == ["none"]
