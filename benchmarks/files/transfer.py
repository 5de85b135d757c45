"""One publisher to one consumer, beside plain SET and GET of the same chunks.

In one thread: all is sent, then all is read, in each of the cases. An operation is one chunk of
128 KiB. Then with the consumer in a process of its own, both at work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

import redis

from holdfast import FileFeed, Holdfast
from holdfast.core.compression import Compression
from holdfast.files.chunk import BLOCK

from ..harness import BenchmarkRun, Case
from ..report import Table
from .sample import Repeated, log_lines, noise

CHUNKS: Final = 400
TARGET: Final = 0.5
_DIFFERENT: Final = 64
"""Chunks that are not alike, repeated."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Bytes that do not get smaller, and log lines."""
    with (
        redis.Redis.from_url(bench.server.url) as client,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
    ):
        random_bytes = noise(_DIFFERENT)
        plain = Case("plain SET + GET", _plain(client, random_bytes), _cleared(bench))
        ours = Case("holdfast, not compressed", _sent(hf, random_bytes, None), _cleared(bench))
        title = "chunks of 128 KiB from one publisher to one consumer"
        yield bench.compared(title, ours, [plain], CHUNKS, target=TARGET)
        lines = log_lines()
        packed = Case("holdfast, log lines, zlib", _sent(hf, lines, "zlib"), _cleared(bench))
        raw = Case("holdfast, log lines, not compressed", _sent(hf, lines, None), _cleared(bench))
        yield bench.compared(
            "the same of log lines, compressed or not", packed, [raw, plain], CHUNKS
        )


def _cleared(bench: BenchmarkRun) -> Callable[[int], object]:
    return lambda _: bench.server.clear()


def _plain(client: redis.Redis, data: bytes) -> Callable[[int], object]:
    chunks = [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]

    def work(amount: int) -> None:
        for n in range(amount):
            client.set(f"chunk:{n}", chunks[n % len(chunks)])
        for n in range(amount):
            client.get(f"chunk:{n}")

    return work


def _sent(hf: Holdfast, data: bytes, compress: Compression | None) -> Callable[[int], object]:
    numbers = count()

    def work(amount: int) -> None:
        size = amount * BLOCK
        feed = hf.file_feed(f"feed {next(numbers)}", consumers=["one"], budget=2 * size + 2**20)
        feed.publish(Repeated(data, size), name="file", compress=compress)
        assert _taken(feed) == size

    return work


def _taken(feed: FileFeed) -> int:
    size = 0
    for file in feed.consumer("one").files(timeout=0):
        with file:
            for block in file.blocks(raw=True):
                size += len(block.data)
    return size
