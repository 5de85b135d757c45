"""Many small files: from one publisher to one consumer, beside SET and GET of the same."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

import redis

from holdfast import Holdfast

from ..harness import BenchmarkRun, Case
from ..report import Table

FILES: Final = 1_000
_DATA: Final = b"a line of a small file\n" * 40


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure small files: each is published, read and acknowledged."""
    with (
        redis.Redis.from_url(bench.server.url) as client,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
    ):
        plain = Case("plain SET + GET", _plain(client))
        ours = Case("holdfast", _sent(hf))
        yield bench.compared("files of 920 bytes", ours, [plain], FILES)


def _plain(client: redis.Redis) -> Callable[[int], object]:
    def work(amount: int) -> None:
        for n in range(amount):
            client.set(f"file:{n}", _DATA)
            client.get(f"file:{n}")

    return work


def _sent(hf: Holdfast) -> Callable[[int], object]:
    numbers = count()

    def work(amount: int) -> None:
        feed = hf.file_feed(f"feed {next(numbers)}", consumers=["one"], budget=2**26)
        for n in range(amount):
            feed.publish(io.BytesIO(_DATA), name=f"{n}.log")
        found = 0
        for file in feed.consumer("one").files(timeout=0):
            with file:
                found += sum(1 for _ in file.lines())
        assert found == 40 * amount

    return work
