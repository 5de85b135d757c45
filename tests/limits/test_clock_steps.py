"""Steps of the server's clock: bounded in both directions."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.clock import Clock, needs_faketime
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, Limit

pytestmark = needs_faketime


class Steps:
    """A server and a client of it; `steps.set` returns when the server has seen the step."""

    def __init__(self, clock: Clock, server: Server, hf: Holdfast) -> None:
        self.clock = clock
        self.server = server
        self.hf = hf

    def set(self, off_s: float) -> None:
        self.clock.set(off_s)
        eventually(lambda: abs(self.server.execute("TIME")[0] - time.time() - off_s) < 10)


@pytest.fixture
def steps(tmp_path: Path) -> Iterator[Steps]:
    clock = Clock(tmp_path)
    with Server(env=clock.env) as server, Holdfast.from_url(server.url) as hf:
        yield Steps(clock, server, hf)


def test_a_step_back_neither_lets_more_pass_nor_stops_the_time(steps: Steps) -> None:
    limiter = steps.hf.rate_limit("api", Limit(5, per=2.0))
    assert limiter.try_acquire(5)
    steps.set(-3600.0)
    began = time.monotonic()
    refused = limiter.try_acquire()
    if refused:  # the machine was too slow to see it
        pytest.skip("the window was over")
    assert refused.retry_after <= 2.0
    assert limiter.acquire(5, timeout=5).waited <= 2.0
    assert limiter.acquire(timeout=5).waited >= 1.0
    assert time.monotonic() - began < 60


def test_a_permit_from_before_a_step_back_is_settled(steps: Steps) -> None:
    limiter = steps.hf.rate_limit("api", Limit(10, per=60.0))
    permit = limiter.acquire(6)
    steps.set(-3600.0)
    assert limiter.try_acquire(2)
    permit.settle({"requests": 1})
    assert limiter.peek().remaining == {"requests": 7}


def test_a_step_forward_lets_at_most_one_more_limit_pass(steps: Steps) -> None:
    limiter = steps.hf.rate_limit("api", Limit(5, per=60.0))
    passed = 0
    for step in range(3):
        steps.set(3600.0 * step)
        passed += sum(bool(limiter.try_acquire()) for _ in range(20))
    assert passed == 3 * 5
