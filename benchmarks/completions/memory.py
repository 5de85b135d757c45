"""What names take of the server's memory: its `used_memory` less what it was before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import redis

from holdfast import Holdfast

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target
from . import textbook
from .names import made_up

NAMES: Final = 50_000
LISTS: Final = 500
KEPT: Final = 100

NAME_TARGET: Final = 150
LIST_TARGET: Final = 1_600


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Once: this hardly varies."""
    with (
        redis.Redis.from_url(bench.server.url, decode_responses=True) as client,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
    ):
        hf.completions("warm").add("x")  # connects, and has the server learn scripts
        hf.recent("warm").touch("x")
        words = made_up(bench.scaled(NAMES))
        one = _names(bench, hf, words)
        two = _names(bench, hf, [f"{word[:5]} {word[5:]}" for word in words])
        theirs = _textbook(bench, client, words)
        kept = _lists(bench, hf)
    rows: list[list[Cell]] = [
        ["name of one word, 10 letters", one],
        ["name of two words, 11 letters", two],
        ["name of the textbook", theirs],
        [f"list of {KEPT} recent names, just touched", kept],
    ]
    targets = [
        Target("bytes per name of one word", one, NAME_TARGET, at_least=False),
        Target(f"bytes per list of {KEPT} recent names", kept, LIST_TARGET, at_least=False),
    ]
    yield Table("server memory", ("what", "bytes each"), rows, targets)


def _names(bench: BenchmarkRun, hf: Holdfast, names: list[str]) -> float:
    bench.server.clear()
    before = bench.server.memory()
    hf.completions("many").add_many(names)
    return (bench.server.memory() - before) / len(names)


def _textbook(bench: BenchmarkRun, client: redis.Redis, names: list[str]) -> float:
    bench.server.clear()
    before = bench.server.memory()
    for name in names:
        textbook.join(client, "many", name)
    return (bench.server.memory() - before) / len(names)


def _lists(bench: BenchmarkRun, hf: Holdfast) -> float:
    """Return the memory with the touches that the server remembers for an hour or two."""
    bench.server.clear()
    before, count = bench.server.memory(), bench.scaled(LISTS)
    for n in range(count):
        recent = hf.recent(f"player:{n}")
        for name in made_up(KEPT):
            recent.touch(name)
    return (bench.server.memory() - before) / count
