"""Clients of the matrix that are broken on purpose, each in its own process only: `act`."""

import importlib
import io
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from faults.history import Pending
from faults.matrix.client import Client
from faults.matrix.workloads import counts, feeds, lines, names, queues, schedules
from holdfast import AsyncHoldfast, FeedFile, FileFeed, Holdfast, RowCache

SOMETIMES = 0.3
AGAIN = ".again"


def act(*, mutant: str, part: str, **about: Any) -> None:
    """Play *part*, `module:function`, with what *mutant* breaks."""
    MUTANTS[mutant]()
    module, _, function = part.partition(":")
    getattr(importlib.import_module(module), function)(**about)


def renames() -> None:
    """Repeat a write of unknown outcome under another name."""

    def write(self: Client, do: Callable[[str], Any], op: Pending, _: str = "") -> Any:
        return self.read(lambda: do(uuid4().hex), op)

    _put(Client, "write", write)


def repeats() -> None:
    """Do once more what was done, under another name."""
    publish = feeds._publish

    def publish_twice(feed: Any, name: str) -> Any:
        if isinstance(feed, FileFeed):
            feed.publish(io.BytesIO(feeds.contents(name)), name=name + AGAIN)
        return publish(feed, name)

    _put(feeds, "_publish", publish_twice)
    _misread(lambda paths: [*paths, *map(_copied, paths)])


def forgets() -> None:
    """Acknowledge what was not done."""
    _put(queues, "_enqueue", _sometimes(SimpleNamespace(task_id="none"), queues._enqueue))
    _put(schedules, "_trigger", _sometimes(SimpleNamespace(task_id="none"), schedules._trigger))
    for module, name in [(counts, "_add"), (names, "_add"), (feeds, "_publish")]:
        _put(module, name, _sometimes(None, getattr(module, name)))
    _misread(lambda paths: paths[-1:] if random.random() < SOMETIMES else paths)


def keeps() -> None:
    """Report what was not removed as removed."""
    _put(names, "_remove", _sometimes(None, names._remove))
    _put(RowCache, "invalidate", _sometimes(None, RowCache.invalidate))


def spills() -> None:
    """Drop some of what is read."""
    blocks = FeedFile.blocks

    def most_blocks(file: FeedFile, **how: Any) -> Iterator[Any]:
        kept = how.get("raw")
        return (each for each in blocks(file, **how) if not kept or random.random() > SOMETIMES)

    _put(FeedFile, "blocks", most_blocks)
    _put(lines, "by_word", _sometimes(None, lines.by_word))


def parts() -> None:
    """Use in each process another one of what all should share."""
    shared = ["lock", "semaphore", "rate_limit", "idempotency"]
    for half, name in product([Holdfast, AsyncHoldfast], shared):
        _put(half, name, _own(getattr(half, name)))


Mutant = Callable[[], None]

MUTANTS: dict[str, Mutant] = {
    each.__name__: each for each in (renames, repeats, forgets, keeps, spills, parts)
}


def _put(place: Any, name: str, broken: Any) -> None:
    assert hasattr(place, name), f"{place} has no {name} that could be broken"
    setattr(place, name, broken)


def _sometimes(instead: Any, do: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **options: instead if random.random() < SOMETIMES else do(*args, **options)


def _own(found: Callable[..., Any]) -> Callable[..., Any]:
    return lambda hf, name, *more, **how: found(hf, f"{name}-{os.getpid()}", *more, **how)


def _misread(choice: Callable[[Sequence[Path]], Sequence[Path]]) -> None:
    """Let other files be counted than were given."""

    def source(kind: Any) -> Callable[[Sequence[Path]], Any]:
        return lambda paths: kind(choice(paths))

    _put(lines, "FILES", {half: source(kind) for half, kind in lines.FILES.items()})


def _copied(path: Path) -> Path:
    copy = path.with_name(path.name + AGAIN)
    with suppress(FileExistsError):
        os.link(path, copy)
    return copy
