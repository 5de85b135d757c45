"""Exceptions from signal handlers: at one chosen step of our code, or at random times."""

import random
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import holdfast
from faults.halves import LONGER, LULL, Interrupted

SOURCE: Final = str(Path(holdfast.__file__).parent)


class Interrupt(BaseException):
    """What a signal handler raises."""


def interrupted_at(
    step: int,
    function: Callable[[], object],
    *,
    files: str = SOURCE,
    opcodes: bool = False,
    instead: Callable[[], object] | None = None,
    raised: type[BaseException] = Interrupt,
    kept: list[BaseException] | None = None,
) -> str | None:
    """Run *function*, and raise *raised* at one step of it in this thread.

    A step is a call of a function, the begin of a line, or the end of a `with`.

    Args:
        step: the number of the step, from 1.
        function: what is interrupted.
        files: only the steps of files with a path that begins so count.
        opcodes: whether each bytecode is a step, too.
        instead: what a handler does that does not raise. Then only calls are steps: Python runs
            handlers there, and not between any two lines.
        raised: the exception.
        kept: takes the exception. Its traceback keeps all frames alive: as in Jupyter, where it
            is `sys.last_traceback`.

    Returns:
        The place of the interrupt; None if *function* has fewer steps.
    """
    left, place = step, ""

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left, place
        if event == "call":
            if not _counts(frame, files):
                return None
            frame.f_trace_opcodes = opcodes
        if event in ("return", "exception") or (instead is not None and event != "call"):
            return trace
        left -= 1
        if left == 0:
            path = frame.f_code.co_filename.removeprefix(SOURCE)
            place = f"{path}:{frame.f_lineno} {frame.f_code.co_name} ({event})"
            if instead is None:
                raise raised
            instead()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except raised as error:
        if kept is not None:
            kept.append(error)
    finally:
        sys.settrace(before)
    return place or None


def _counts(frame: FrameType, files: str) -> bool:
    """Return whether the steps of *frame* count. Python drops what the collector's calls raise."""
    if not frame.f_code.co_filename.startswith(files):
        return False
    each: FrameType | None = frame
    while each is not None and each.f_code.co_filename.startswith(files):
        if each.f_code.co_name in ("__del__", "gc_callback"):
            return False
        each = each.f_back
    return each is None or each.f_code.co_filename != weakref.__file__


def steps_of(function: Callable[[], object], *, files: str = SOURCE, opcodes: bool = False) -> int:
    """Return how many steps *function* has."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if event == "call":
            if not _counts(frame, files):
                return None
            frame.f_trace_opcodes = opcodes
        count += event not in ("return", "exception")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@contextmanager
def handler(raised: type[BaseException] = Interrupt) -> Iterator[None]:
    """Have SIGALRM raise *raised* while the context lasts. Only in the main thread."""

    def raise_it(*_: object) -> None:
        raise raised

    before = signal.signal(signal.SIGALRM, raise_it)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Alarm(BaseException):
    """What the signals of `struck` raise."""


def struck(do: Callable[[], Any], alarm_s: float) -> Any:
    """Call *do*, which a signal interrupts after a random time, mostly of *alarm_s* at most.

    Args:
        do: what is called. Signals interrupt only the main thread, so others just call it.
        alarm_s: 0: no signal comes.

    Raises:
        Interrupted: a signal interrupted it.
    """
    if not alarm_s or threading.current_thread() is not threading.main_thread():
        return do()
    let_s = random.uniform(0.00002, alarm_s) * (LONGER if random.random() < LULL else 1)
    signal.signal(signal.SIGALRM, _raise_alarm)
    sys.unraisablehook = lambda _: None  # what a finalizer raises, Python itself drops
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, let_s)
            return do()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Alarm:
        raise Interrupted from None


def _raise_alarm(*_: object) -> None:
    raise Alarm


def interrupted_after(
    seconds: float, function: Callable[[], object], raised: type[BaseException] = Interrupt
) -> bool:
    """Run *function* again and again until a signal interrupts it after *seconds*.

    Call it in `handler()`.

    Returns:
        Whether the exception of the handler arrived here, or *function* has turned it into another.
    """
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            while signal.getitimer(signal.ITIMER_REAL)[0]:
                function()
        finally:  # here it may still come
            signal.setitimer(signal.ITIMER_REAL, 0)
    except raised:
        return True
    return False


def times(seed: int, most_s: float, count: int) -> list[float]:
    """Return random times up to *most_s*."""
    numbers = random.Random(seed)
    return [numbers.uniform(0.00002, most_s) for _ in range(count)]
