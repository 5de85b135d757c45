"""Where a permit is stored: in the state if there is one client, otherwise among the holders."""

import random
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from conftest import Site
from holdfast.core import ledger
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport.settings import Settings
from holdfast.locks import keys
from holdfast.locks._sync.lock import INSPECT
from holdfast.locks.permit_scripts import ACQUIRE, RELEASE, RENEW

LEASE_MS = 600_000
STEPS = 150


class ModelledUnit:
    """A lock or semaphore, and a model of what it should hold."""

    def __init__(self, site: Site, limit: int) -> None:
        self._caller = Caller(Settings.from_url(site.url))
        self._unit = Namespace.of(site.namespace).unit(keys.SEMAPHORE, "s")
        names = (keys.state, keys.holders, keys.wait_queue)
        self.names = (*(name(self._unit) for name in names), *ledger.keys(self._unit))
        self.client = site.client
        self.limit = limit
        self.held: dict[str, int] = {}
        self.ended: set[str] = set()
        self.fence = 0

    def run(self, script: Script, *args: str | int, most: int = 5) -> Any:
        return self._caller.call(script, self._unit, self.names[:most], args)

    def acquire(self, member: str) -> None:
        reply = self.run(ACQUIRE, member, LEASE_MS, self.limit)
        if member in self.ended:
            assert reply[0] == b"ended"
        elif member in self.held and self.limit == 1:
            assert int(reply[2]) == self.fence
        elif member in self.held or len(self.held) < self.limit:
            fence = int(reply if isinstance(reply, bytes) else reply[2])
            assert fence > self.fence
            self.fence = self.held[member] = fence
        else:
            assert reply[0] == b"busy"
            assert reply[2].decode() in self.held

    def release(self, member: str, in_flight: int) -> None:
        reply = self.run(RELEASE, member, *([in_flight, "", ""] if in_flight else []))
        verdict = reply if isinstance(reply, bytes) else reply[0]
        assert verdict == (b"released" if member in self.held else b"gone")
        self.held.pop(member, None)
        if in_flight:
            self.ended.add(member)

    def renew(self, member: str) -> None:
        lost = self.run(RENEW, LEASE_MS, member, 7, most=2)
        assert lost == ([] if member in self.held else [member.encode(), b"7"])

    def check(self) -> None:
        """Compare it with the model; an uncontended holder must be in the state only."""
        _, fence, held, _ = self.run(INSPECT, most=3)
        assert {member.decode() for member in held[::2]} == set(self.held)
        assert all(0 < int(left) <= LEASE_MS for left in held[1::2])
        assert int(fence or 0) == self.fence
        if self.client.hexists(self.names[0], "uncontended"):
            assert self.client.exists(*self.names[1:3]) == 0

    def forget_ledger(self) -> None:
        self.client.delete(*self.names[3:])
        self.ended.clear()

    def close(self) -> None:
        self._caller.close()


@pytest.fixture(params=[1, 2])
def unit(site: Site, request: pytest.FixtureRequest) -> Iterator[ModelledUnit]:
    made = ModelledUnit(site, request.param)
    yield made
    made.close()


def test_any_sequence_of_calls_agrees_with_the_model(unit: ModelledUnit, seed: int) -> None:
    dice = random.Random(seed)
    fresh = map("h:1:{}".format, count(100))
    members = ["h:1:1", "h:1:2", "h:1:3"]
    for _ in range(STEPS):
        member = dice.choice(members)
        match dice.choice(
            ["acquire", "acquire", "release", "release", "in flight", "renew", "forget"]
        ):
            case "acquire":
                unit.acquire(member)
            case "release":
                unit.release(member, in_flight=0)
            case "in flight":
                unit.release(member, in_flight=1)
                members[members.index(member)] = next(fresh)
                unit.acquire(member)
            case "renew":
                unit.renew(member)
            case "forget":
                unit.forget_ledger()
        unit.check()


def test_an_uncontended_holder_needs_no_other_key(unit: ModelledUnit) -> None:
    unit.acquire("h:1:1")
    state, holders, *others = unit.names
    assert unit.client.hget(state, "uncontended") == b"h:1:1"
    assert unit.client.exists(holders, *others) == 0
    assert unit.client.pttl(state) > 0
    ends = float(unit.client.hget(state, "ends_ms"))
    unit.acquire("h:1:2")
    assert unit.client.hget(state, "uncontended") is None
    assert unit.client.zscore(holders, "h:1:1") == ends
    for member in list(unit.held):
        unit.release(member, in_flight=0)
    unit.acquire("h:1:3")
    assert unit.client.hget(state, "uncontended") == b"h:1:3"
    unit.release("h:1:3", in_flight=0)
    assert unit.client.hget(state, "uncontended") == b""
