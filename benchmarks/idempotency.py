"""Idempotency keys, beside the usual way by hand: `SET NX`, the work, `SET`."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count as numbers
from typing import Final

import redis

from holdfast import Holdfast

from .harness import BenchmarkRun, Case
from .report import Table

COUNT: Final = 1_000
BODY: Final = b'{"amount": 5, "currency": "EUR"}'
ANSWER: Final = b'{"paid": true}'
LEASE_MS: Final = 60_000
KEPT_MS: Final = 86_400_000


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Do calls once, and ask for them again.

    By hand, another request with the same key is not noticed, a call that runs is not renewed, and
    a caller that stood still may replace a later answer.
    """
    bench.server.clear()
    with ExitStack() as ending:
        hf = ending.enter_context(Holdfast.from_url(bench.server.url, namespace="benchmarks"))
        client = ending.enter_context(redis.Redis.from_url(bench.server.url))
        store, fresh = hf.idempotency("payments"), numbers()

        def first(count: int) -> None:
            for _ in range(count):
                call = store.begin(f"key-{next(fresh)}", BODY, user="ann")
                assert call.finish(ANSWER)

        def first_by_hand(count: int) -> None:
            for _ in range(count):
                key, token = f"hand:key-{next(fresh)}", secrets.token_hex(8)
                assert client.set(key, token, nx=True, px=LEASE_MS)
                client.set(key, ANSWER, px=KEPT_MS)

        def again(count: int) -> None:
            for _ in range(count):
                assert store.begin("known", BODY, user="ann").answer == ANSWER

        def again_by_hand(count: int) -> None:
            for _ in range(count):
                assert client.get("hand:known") == ANSWER

        store.begin("known", BODY, user="ann").finish(ANSWER)
        client.set("hand:known", ANSWER)
        by_hand = Case("by hand", first_by_hand)
        yield bench.compared("calls that are done once", Case("holdfast", first), [by_hand], COUNT)
        by_hand = Case("by hand", again_by_hand)
        yield bench.compared("calls that were done", Case("holdfast", again), [by_hand], COUNT)
