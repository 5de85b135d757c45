"""Sixteen processes at one limiter: each gets its share, and no caller waits much longer."""

import json
import time
from collections import Counter
from contextlib import ExitStack

import pytest

from conftest import Site
from faults.processes import Process
from faults.waiting import eventually

PROCESSES = 16
AMOUNT = 8
PER_S = 0.25
PERIODS = 32


@pytest.fixture
def acquired(site: Site) -> list[list[tuple[float, float, float, int]]]:
    """Return what each process got: asked at, waited, got it at, and the reserved instant."""
    begin = time.time() + 3
    arguments = [AMOUNT, PER_S, begin, begin + PERIODS * PER_S]
    with ExitStack() as running:
        processes = [
            running.enter_context(
                Process.python("-m", "limits.crowd", site.url, site.namespace, *map(str, arguments))
            )
            for _ in range(PROCESSES)
        ]
        eventually(lambda: not any(process.is_running for process in processes))
        return [json.loads(process.output) for process in processes]


def test_each_process_gets_its_share(
    acquired: list[list[tuple[float, float, float, int]]],
) -> None:
    """In any ten periods, within one; in any window no more than the limit passes."""
    granted = sorted((at, n) for n, each in enumerate(acquired) for *_, at in each)
    for (first, _), (beyond, _) in zip(granted, granted[AMOUNT:], strict=False):
        assert beyond - first >= PER_S * 1000
    everybody = max(each[1][3] for each in acquired)  # from then on, all processes compete
    granted = [each for each in granted if each[0] > everybody]
    share, ten_periods = 10 * AMOUNT / PROCESSES, 10 * AMOUNT
    for begin in range(0, len(granted) - ten_periods - PROCESSES, AMOUNT):
        got = Counter(n for _, n in granted[begin : begin + ten_periods])
        assert {abs(got[n] - share) <= 1 for n in range(PROCESSES)} == {True}, begin
    assert len(granted) > 2 * ten_periods
    waits = sorted(waited for each in acquired for _, waited, *_ in each)
    ideal_s = PER_S * PROCESSES / AMOUNT
    assert waits[int(len(waits) * 0.99)] <= ideal_s + PER_S
