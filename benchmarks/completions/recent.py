"""A hundred recent names: one is used again, and some are looked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Final

import redis

from holdfast import Holdfast

from ..harness import BenchmarkRun, Case
from ..report import Table
from . import textbook
from .names import made_up

COUNT: Final = 1_000


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Beside the textbook's list. Ours overlooks case and accents of all scripts."""
    bench.server.clear()
    names = made_up(100)
    with (
        redis.Redis.from_url(bench.server.url, decode_responses=True) as client,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
    ):
        recent, turn = hf.recent("player"), cycle(names)
        for name in names:
            recent.touch(name)
            textbook.touch(client, "player", name)

        def touch(count: int) -> None:
            for _ in range(count):
                recent.touch(next(turn))

        def touch_textbook(count: int) -> None:
            for _ in range(count):
                textbook.touch(client, "player", next(turn))

        def match(count: int) -> None:
            for _ in range(count):
                recent.match(next(turn)[:1])

        def match_textbook(count: int) -> None:
            for _ in range(count):
                textbook.contacts(client, "player", next(turn)[:1])

        ours, theirs = Case("holdfast", touch), Case("textbook", touch_textbook)
        yield bench.compared("a recent name is used again", ours, [theirs], COUNT)
        ours, theirs = Case("holdfast", match), Case("textbook", match_textbook)
        yield bench.compared("recent names by their beginning", ours, [theirs], COUNT)
