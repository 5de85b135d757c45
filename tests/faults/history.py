"""Who did what, when, and what came of it: a history for the checkers.

Each process appends to a file of its own, two JSON lines for each operation: one before it is
invoked and one after it returned, so that an operation cut short by SIGKILL is on record, with an
unknown outcome. Times are `time.monotonic_ns`, which on Linux is one clock for all processes of
the machine. A line is one `os.write` in append mode; a kill can tear only the last one.

    {"process": "worker-1:4242", "op": 7, "kind": "acquire", "key": "lock", "at": 123, "fields": {}}
    {"process": "worker-1:4242", "op": 7, "at": 456, "outcome": "ok", "value": 17, "fields": {}}
"""

import itertools
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

Outcome = Literal["ok", "fail", "unknown"]


@dataclass(frozen=True)
class Operation:
    """One operation of one process.

    Args:
        process: The process that did it; a process that is started again is another one.
        op: Its number within the process.
        kind: What was done: "acquire", "enqueue".
        key: To what: the lock's name, the task's id.
        invoke_ns: When it was called.
        return_ns: When it returned; None: it did not.
        outcome: "ok": it returned `value`. "fail": surely not applied. "unknown": perhaps applied,
            then or at any later time.
        value: What it returned, as JSON gives it back.
        fields: The rest of what was asked, and what was noted of the answer.
    """

    process: str
    op: int
    kind: str
    key: str
    invoke_ns: int
    return_ns: int | None
    outcome: Outcome
    value: Any = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        asked = "".join(f" {name}={value!r}" for name, value in self.fields.items())
        span = f"{self.invoke_ns}…{'?' if self.return_ns is None else self.return_ns}"
        answer = repr(self.value) if self.outcome == "ok" else self.outcome
        return f"[{span}] {self.process}#{self.op} {self.kind} {self.key}{asked} -> {answer}"


class Pending:
    """An operation under way: say here what came of it."""

    def __init__(self) -> None:
        self.result: Any = None
        self.outcome: Outcome = "ok"
        self.notes: dict[str, Any] = {}

    def note(self, **fields: Any) -> None:
        """Add fields that are known only with the answer, such as `until_ns`."""
        self.notes.update(fields)

    def fail(self) -> None:
        """Record that it was surely not applied."""
        self.outcome = "fail"

    def unknown(self) -> None:
        """Record that it is unknown whether it was applied."""
        self.outcome = "unknown"


class Recorder:
    """Appends the history of this process to a file; threads and tasks may share it.

    Args:
        path: The file; one for each process, kept over its restarts.
        failures: Exceptions which mean that an operation was surely not applied.
    """

    def __init__(self, path: Path | str, failures: tuple[type[Exception], ...] = ()) -> None:
        self._path = Path(path)
        self._failures = failures
        self._numbers = itertools.count()
        self.process = f"{self._path.stem}:{os.getpid()}"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        if _is_torn(self._file):  # the run before was killed within a line
            os.write(self._file, b"\n")

    @contextmanager
    def operation(self, kind: str, *, key: str = "", **fields: Any) -> Iterator[Pending]:
        """Record what the block does as one operation; the block sets its answer as `result`.

        An exception that leaves the block makes the outcome unknown, or "fail" if it is one of
        `failures`; it is not swallowed.
        """
        name = {"process": self.process, "op": next(self._numbers)}
        asked = {**name, "kind": kind, "key": key, "at": time.monotonic_ns(), "fields": fields}
        self._append(asked)
        pending = Pending()
        try:
            yield pending
        except BaseException as error:
            pending.outcome = "fail" if isinstance(error, self._failures) else "unknown"
            raise
        finally:
            answer = {"at": time.monotonic_ns(), "outcome": pending.outcome}
            self._append({**name, **answer, "value": pending.result, "fields": pending.notes})

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, line: Mapping[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read(paths: Iterable[Path | str]) -> list[Operation]:
    """Return the operations of all files, ordered by invocation.

    Raises:
        ValueError: A line is damaged that no kill can have torn.
    """
    operations = [operation for path in paths for operation in _read_file(Path(path))]
    return sorted(operations, key=lambda operation: operation.invoke_ns)


def _read_file(path: Path) -> Iterator[Operation]:
    asked: dict[tuple[str, int], dict[str, Any]] = {}
    answered: dict[tuple[str, int], dict[str, Any]] = {}
    for line in _whole_lines(path):
        name = line["process"], line["op"]
        (asked if "kind" in line else answered)[name] = line
    for name, line in asked.items():
        yield _operation(line, answered.get(name))


def _operation(asked: Mapping[str, Any], answer: Mapping[str, Any] | None) -> Operation:
    answer = answer or {"outcome": "unknown", "value": None, "at": None, "fields": {}}
    return Operation(
        process=asked["process"],
        op=asked["op"],
        kind=asked["kind"],
        key=asked["key"],
        invoke_ns=asked["at"],
        return_ns=answer["at"],
        outcome=answer["outcome"],
        value=answer["value"],
        fields={**asked["fields"], **answer["fields"]},
    )


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines; only the last line of a process may be torn."""
    process, torn_process = "", None
    for number, text in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            line = json.loads(text)
        except ValueError:
            torn_process = process
            continue
        process = line["process"]
        if process == torn_process:
            raise ValueError(f"{path}: damaged before line {number}, not by a kill")
        yield line


def _is_torn(file: int) -> bool:
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"
