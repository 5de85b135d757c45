"""Random operations beside a reference: in any window, no more passes than the limits allow.

The reference keeps every reservation. The server's clock is stepped, so windows pass quickly.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faults.clock import Clock, needs_faketime
from faults.servers import Server
from holdfast import Holdfast, Limit
from holdfast.limits._sync.subject import Reservation

pytestmark = needs_faketime

NAMES = count()

SEVERAL = [
    (Limit(3, per=1.0),),
    (Limit(5, per=0.5), Limit(40, per=8.0, name="tokens")),
    (Limit(2, per=0.1), Limit(7, per=1.0), Limit(100, per=30.0, name="tokens")),
]
MANY = (Limit(1000, per=1.0),)
"""Long logs of this limit are merged."""

OPERATIONS = st.one_of(
    st.tuples(st.just("advance"), st.integers(0, 1500)),
    st.tuples(st.just("reserve"), st.integers(0, 2**16)),
    st.tuples(st.just("reserve"), st.integers(0, 2**16)),
    st.tuples(st.just("try"), st.integers(0, 2**16)),
    st.tuples(st.just("settle"), st.integers(0, 2**16)),
    st.tuples(st.just("cancel"), st.integers(0, 2**16)),
)


@dataclass
class Reference:
    """Every reservation, with its current costs."""

    limits: tuple[Limit, ...]
    passed: list[tuple[int, tuple[int, ...], Reservation]] = field(default_factory=list)

    def earliest(self, now_ms: int, costs: tuple[int, ...]) -> int:
        """Return the instant that a reservation must get."""
        at = max([now_ms, *(when for when, past, _ in self.passed if any(past))])
        for i, limit in enumerate(self.limits):
            ends = sorted(when + limit.per_ms for when, past, _ in self.passed if past[i])
            fits = (each for each in [at, *ends] if each >= at and self.room(each, i) >= costs[i])
            at = at if not costs[i] else next(fits)
        return at

    def room(self, at: int, i: int) -> int:
        """Return how much of limit *i* the window that ends at *at* has left."""
        limit = self.limits[i]
        used = sum(past[i] for when, past, _ in self.passed if at - limit.per_ms < when <= at)
        return limit.amount - used


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Clock, Holdfast]]:
    clock = Clock(tmp_path_factory.mktemp("clock"))
    with Server(env=clock.env) as server, Holdfast.from_url(server.url) as hf:
        yield clock, hf


class Run:
    """One run of random operations on a subject of its own."""

    def __init__(self, clock: Clock, hf: Holdfast, limits: tuple[Limit, ...]) -> None:
        self.clock = clock
        self.reference = Reference(limits)
        self.limits = limits
        self.subject = hf.rate_limit("api", *limits).of(str(next(NAMES)))._subject
        self.exact = True

    def do(self, what: str, n: int) -> None:
        passed = self.reference.passed
        if what == "advance":
            OFF_S[0] += n / 1000
            self.clock.set(OFF_S[0])
        elif what in ("reserve", "try"):
            self.reserve(
                tuple(n // 7**i % (limit.amount + 1) for i, limit in enumerate(self.limits)), what
            )
        elif passed:
            at, past, reservation = passed[n % len(passed)]
            new = tuple(n // 5**i % (limit.amount + 3) for i, limit in enumerate(self.limits))
            if what == "cancel":
                new = tuple(0 for _ in past)
                self.subject.undo(reservation.mark, at, past)
            else:
                changes = [after - before for after, before in zip(new, past, strict=True)]
                self.subject.correct(at, changes, None, None)
            passed[n % len(passed)] = (at, new, reservation)

    def reserve(self, costs: tuple[int, ...], what: str) -> None:
        reference, longest = self.reference, 0 if what == "try" else ""
        got = self.subject.reserve(costs, longest, None, None)
        now_ms = got.at_ms - round(got.wait_s * 1000)
        wanted = reference.earliest(now_ms, costs)
        if self.exact:
            assert got.at_ms == wanted
        assert got.is_reserved is (what == "reserve" or got.wait_s == 0)
        if got.is_reserved:
            for i, cost in enumerate(costs):
                assert not cost or reference.room(got.at_ms, i) >= cost
            late = max(limit.per_ms for limit in self.limits) / 64
            assert wanted <= got.at_ms <= wanted + late + 1
            reference.passed.append((got.at_ms, costs, got))


OFF_S = [0.0]


@settings(max_examples=60)
@given(st.sampled_from(SEVERAL), st.lists(OPERATIONS, max_size=40))
def test_what_passes_is_what_the_reference_lets_pass(
    place: Any, limits: tuple[Limit, ...], operations: list[tuple[str, int]]
) -> None:
    run = Run(*place, limits)
    for operation in operations:
        run.do(*operation)


def test_a_merged_log_lets_no_more_pass(place: Any, seed: int) -> None:
    """A thousand small costs at all instants of many windows; later by a 64th of it at most."""
    dice, run = random.Random(seed), Run(*place, MANY)
    run.exact = False
    for _ in range(1000):
        run.do("advance", dice.choice([0, 1, 2, 5, 20]))
        run.reserve((dice.choice([1, 2, 30, 90]),), dice.choice(["try", "reserve"]))
        if dice.random() < 0.1:
            run.do("settle", dice.randrange(2**16))
