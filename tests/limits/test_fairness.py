"""Sixteen processes at one limiter: each gets its share, and no caller waits much longer."""

import json
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise

import pytest

from conftest import Site
from faults.processes import Process
from faults.waiting import eventually

PROCESSES = 16
AMOUNT = 8
PER_S = 0.4
PERMITS = 22

Acquired = list[list[tuple[float, float, int]]]


@pytest.fixture
def acquired(site: Site) -> Acquired:
    """Return what each process got: asked at, waited, and the reserved instant."""
    arguments = [site.url, site.namespace, PROCESSES, AMOUNT, PER_S, PERMITS]
    with ExitStack() as running:
        processes = [
            running.enter_context(Process.python("-m", "limits.acquirer", *map(str, arguments)))
            for _ in range(PROCESSES)
        ]
        eventually(lambda: not any(process.is_running for process in processes), 110.0)
        return [json.loads(process.output) for process in processes]


def test_each_process_gets_its_share(acquired: Acquired) -> None:
    """In any ten periods, within one; in any window no more than the limit passes."""
    granted = sorted((at, n) for n, each in enumerate(acquired) for *_, at in each)
    for (first, _), (beyond, _) in zip(granted, granted[AMOUNT:], strict=False):
        assert beyond - first >= PER_S * 1000
    # A process that the machine stopped for more than a period did not compete in its turn.
    late = sum(
        after[0] - before[2] / 1000 > PER_S for each in acquired for before, after in pairwise(each)
    )
    begin = max(each[1][2] for each in acquired)  # from then on, all processes compete
    end = min(each[-1][2] for each in acquired)
    granted = [(at, n) for at, n in granted if begin < at <= end]
    share, ten_periods = 10 * AMOUNT / PROCESSES, 10 * AMOUNT
    assert len(granted) > 2 * ten_periods
    for first in range(len(granted) - ten_periods):
        got = Counter(n for _, n in granted[first : first + ten_periods])
        assert max(abs(got[n] - share) for n in range(PROCESSES)) <= 1 + late, (first, late)
    waits = sorted(waited for each in acquired for _, waited, *_ in each)
    ideal_s = PER_S * PROCESSES / AMOUNT
    assert waits[int(len(waits) * 0.99)] <= ideal_s + PER_S
