"""Fake Game's market events, and the example that turns each of them into a task.

The demo runs the same `mail.py` that a user reads and copies: it is not part of the package, but
lies beside it, at the root of a checkout or inside an installed wheel.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from ... import Call, Task

HERE = Path(__file__).resolve()
PLACES = (HERE.parents[1] / "examples/fakegame", HERE.parents[4] / "examples/fakegame")
ARGUMENTS = {
    "sold": ("email", "seller", "item", "price", "buyer"),
    "expired": ("email", "seller", "item", "price"),
}


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one offer, and what its task is told about it."""

    kind: str
    task_id: str
    arguments: dict[str, Any]

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read one line; the same event has the same task id in every run."""
        fields = json.loads(line)
        kind, event_id = fields["event"], fields["id"]
        return cls(kind, f"{kind}-{event_id}", {name: fields[name] for name in ARGUMENTS[kind]})

    @property
    def mail_id(self) -> str:
        """The Message-ID that `mail.py` gives to this event's mail."""
        return f"{self.task_id}@fakegame.example"

    def call(self, example: ModuleType) -> Call[None]:
        """The call that mails this event."""
        task: Task[..., None] = getattr(example, f"send_{self.kind}_email")
        return task.call(**self.arguments).options(task_id=self.task_id)


def read_events(path: Path, count: int | None = None) -> list[Event]:
    """The first *count* events of a file, all of them without a count.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is not an event; the message names the file and the line.
    """
    with path.open(encoding="utf-8") as lines:
        return list(_events(path, islice(lines, count)))


def _events(path: Path, lines: Iterator[str]) -> Iterator[Event]:
    for number, line in enumerate(lines, 1):
        try:
            yield Event.parse(line)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number} is not a market event: {error!r}") from error


def example_folder() -> Path:
    """Where `mail.py` and `events.jsonl` lie.

    Raises:
        FileNotFoundError: the examples were not installed; the message says where they should be.
    """
    for folder in PLACES:
        if (folder / "mail.py").is_file():
            return folder
    raise FileNotFoundError(f"cannot find the example mail.py in {PLACES[0]} or {PLACES[1]}")


def load_example(folder: Path) -> ModuleType:
    """Import `mail.py` under the name that the workers know it by, without touching `sys.path`."""
    spec = importlib.util.spec_from_file_location("mail", folder / "mail.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mail"] = module
    spec.loader.exec_module(module)
    return module
