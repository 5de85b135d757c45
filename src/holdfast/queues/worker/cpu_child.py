"""The program of a child process that runs CPU-bound tasks for a worker."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ...core.concurrency._async.background_task import outside_loop, run_loop
from ...core.concurrency.parent_link import ParentLink
from ...core.names import Namespace
from .. import keys
from ..registry import TaskRegistry
from .attempt_events import AttemptEvents
from .cpu_messages import Begun, Failed, Job, Logged, Ready, Reported, Settled, Setup
from .runner import Runner

_LARGEST: Final = 2**63
"""The JSON decoder refuses larger integers."""

_UNWANTED: Final = {"args", "exc_info", "msg", "stack_info"}


def main(descriptor: int) -> None:
    """Import the registry of the worker, and run one task after the other until the worker ends."""
    link = ParentLink(descriptor)
    frames = link.frames()
    header, _ = next(frames)
    setup = msgspec.json.decode(header, type=Setup)
    try:
        registry = setup.address.imported()
    except BaseException:  # noqa: BLE001 (the module of the user may raise anything)
        _send(link, Failed(traceback.format_exc(limit=-5)))
        return
    _forward_logs(link, setup.levels)
    namespace = Namespace.of(setup.namespace)
    _send(link, Ready())
    for header, body in frames:
        _send(link, Begun())
        _run(link, registry, namespace, msgspec.json.decode(header, type=Job), body)


def _run(
    link: ParentLink, registry: TaskRegistry, namespace: Namespace, job: Job, body: bytes
) -> None:
    unit = namespace.unit(keys.KIND, job.queue)
    events, threads = _ToWorker(link), _InThisThread(link)
    runner = Runner(registry, unit, threads, 0, {}, events, cpu=None, steps=None)

    async def work() -> None:
        settlement = await runner.run(job.claim(body))
        _flush()
        text = settlement.text
        facts = settlement.verb, settlement.ms, settlement.urgent
        settled = Settled(*facts, runner.last_error, settlement.pauses_key)
        data = text if isinstance(text, bytes) else text.encode(errors="backslashreplace")
        link.send(msgspec.json.encode(settled), data)

    run_loop(work())


class _InThisThread:
    """Runs plain functions in the main thread of the child, which does nothing else.

    The functions see no event loop: `asyncio.run` works in them, and so does the ORM of Django.
    """

    def __init__(self, link: ParentLink) -> None:
        self._link = link

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run *function* and return what it returns. If *function* forks, end the new process."""
        try:
            with outside_loop():
                result = function()
        except BaseException:
            if self._link.is_copy:
                traceback.print_exc()
                _end_copy(1)
            raise
        if self._link.is_copy:
            _end_copy(0)
        return result


class _ToWorker:
    """Passes the events of a task to the worker, which sends them."""

    def __init__(self, link: ParentLink) -> None:
        self._link = link

    def add(self, _attempt: AttemptEvents, kind: bytes, data: bytes) -> None:
        """Pass on an event, from any thread. Wait while the worker does not read the link."""
        self._link.send(msgspec.json.encode(Reported(kind.decode())), data)

    async def wait_for_room(self, _attempt: AttemptEvents) -> None:
        """Do nothing, because `add` waits."""


def _end_copy(code: int) -> None:
    """End this process, which a task has forked: only the child itself reports how it ended."""
    _flush()
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the task may have closed or replaced it
            stream.flush()


def _forward_logs(link: ParentLink, levels: dict[str, int]) -> None:
    """Send log records to the worker, unless the application has configured logging."""
    root = logging.getLogger()
    if root.handlers:
        return
    root.addHandler(_Forwarder(link))
    for name, level in levels.items():
        logging.getLogger(name or None).setLevel(level)


class _Forwarder(logging.Handler):
    """Sends the records of the child to the worker."""

    def __init__(self, link: ParentLink) -> None:
        super().__init__()
        self._link = link
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Send *record*: its message, its traceback as text, and its fields."""
        try:
            if self._link.is_copy:  # a process that a task has forked logs to stderr
                if logging.lastResort is not None:
                    logging.lastResort.handle(record)
                return
            fields = {
                name: _plain(value) for name, value in vars(record).items() if name not in _UNWANTED
            }
            fields["msg"] = _encodable(record.getMessage())
            if record.exc_info and not record.exc_text:
                text = self._formatter.formatException(record.exc_info)
                fields["exc_text"] = _encodable(text)
            _send(self._link, Logged(fields))
        except Exception:  # noqa: BLE001 (as handlers do)
            self.handleError(record)


def _plain(value: Any) -> Any:
    """Return a field of a record as a JSON value."""
    if value is None or type(value) in {bool, float}:
        return value
    if isinstance(value, str):
        return _encodable(str.__str__(value))
    if isinstance(value, int) and abs(value) < _LARGEST:
        return int(value)
    return _encodable(repr(value))


def _encodable(text: str) -> str:
    """Return *text* with lone surrogates as escapes, which UTF-8 cannot encode."""
    return text.encode(errors="backslashreplace").decode()


def _send(link: ParentLink, report: Ready | Failed | Begun | Logged) -> None:
    link.send(msgspec.json.encode(report))
