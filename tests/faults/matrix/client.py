"""A program that uses a block until it is asked to stop, and records what it does: `Client`."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from faults.halves import Half, Interrupted
from faults.history import Operation, Pending, Recorder, read
from faults.interrupts import struck
from holdfast import OutcomeUnknown, ServerUnavailable

AGAIN_S = 0.01
HANDS = 2
PATIENCE_S = 30.0
"""A server without a reply for so long will not reply."""


class Client:
    """One process of a workload.

    Args:
        name: of the process; it is the same after a kill.
        url: of the server.
        namespace: of the cell.
        folder: for the history; a file `stop` in it ends everything.
        half: `sync` or `async`.
        access: see `opened`.
        storm_s: see `Half`.
        alarm_s: see `struck`; then one hand works, in the main thread.
        twice: whether every call is repeated after its reply.
    """

    def __init__(
        self,
        *,
        name: str,
        url: str,
        namespace: str,
        folder: str,
        half: str,
        access: str = "",
        storm_s: float = 0.0,
        alarm_s: float = 0.0,
        twice: bool = False,
    ) -> None:
        path = Path(folder) / f"{name}.jsonl"
        self.name = name
        self.half = Half(half, storm_s=storm_s)
        self.hf = self.half.client(url, namespace, access)
        self.past: list[Operation] = read([path]) if path.exists() else []
        self.dice = random.Random(random.random())
        self._recorder = Recorder(path)
        self._stop = Path(folder) / "stop"
        self._twice = twice
        self._alarm_s = alarm_s

    @property
    def over(self) -> bool:
        """Return whether to stop."""
        return self._stop.exists()

    @property
    def number(self) -> int:
        """Return the next number for what this client makes, over all its runs."""
        return 1 + max((operation.fields.get("number", 0) for operation in self.past), default=0)

    def share(self, work: Callable[[Client, str], None]) -> None:
        """Let some hands work at once, each under a name of its own: they share connections."""
        names = [f"{self.name}.{hand}" for hand in range(HANDS)]
        if self._alarm_s:
            work(self, names[0])
            return
        with ThreadPoolExecutor(HANDS) as threads:
            for done in [threads.submit(work, self, name) for name in names]:
                done.result()

    def operation(self, kind: str, key: str, **fields: Any) -> AbstractContextManager[Pending]:
        """Put the block on record."""
        return self._recorder.operation(kind, key=key, **fields)

    def write(self, do: Callable[[str], Any], op: Pending, op_id: str = "") -> Any:
        """Do something exactly once, whatever happens: *do* is given the name of the operation."""
        op_id = op_id or uuid4().hex
        answer = self._until_known(lambda: do(op_id), op)
        if self._twice:
            assert self._until_known(lambda: do(op_id), op) == answer, f"{op_id} answers otherwise"
        return answer

    def read(self, do: Callable[[], Any], op: Pending) -> Any:
        """Read, as often as it takes."""
        return self._until_known(do, op)

    def _until_known(self, do: Callable[[], Any], op: Pending) -> Any:
        until_s, unknown = time.monotonic() + PATIENCE_S, 0
        while True:
            try:
                return self.half.do(struck(do, self._alarm_s))
            except (OutcomeUnknown, Interrupted):
                unknown += 1
                op.note(unknown=unknown)
            except ServerUnavailable:
                if time.monotonic() > until_s:
                    raise
                time.sleep(AGAIN_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.half.close()
        self._recorder.close()
