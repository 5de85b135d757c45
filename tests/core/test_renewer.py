"""The renewer: leases live as long as they are kept, and a loss is told in time."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast.core.call._sync import Caller
from holdfast.core.connections.settings import Settings
from holdfast.core.names import Namespace, Unit
from holdfast.core.renewer import Lease, Renewer
from holdfast.core.runtime._sync import Event
from holdfast.core.script import Script

RENEW = Script.of(
    "test/renew",
    """#!lua
local lost = {}
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    redis.call('HINCRBY', KEYS[1], 'renewed:' .. ARGV[i], 1)
  else
    lost[#lost + 1] = ARGV[i]
    lost[#lost + 1] = ARGV[i + 1]
  end
end
return lost""",
)


class Held:
    """Leases of one unit, as a block would hold them."""

    def __init__(self, url: str, namespace: str) -> None:
        self.unit: Unit = Namespace.of(namespace).unit("lock", "l")
        self.renewer = Renewer(Settings.from_url(url))
        self.caller = Caller(Settings.from_url(url))
        self.key = self.unit.key("holders")

    def take(self, member: str, lease_ms: int = 4500) -> tuple[Lease, Event]:
        lost = Event()
        self.caller.read(self.unit, "HSET", self.key, member, 7)
        lease = Lease(
            self.unit, RENEW, [self.key], member.encode(), 7, lease_ms, time.monotonic(), lost.set
        )
        self.renewer.keep(lease)
        return lease, lost

    def renewals(self, member: str) -> int:
        return int(self.caller.read(self.unit, "HGET", self.key, f"renewed:{member}") or 0)

    def close(self) -> None:
        self.renewer.close()
        self.caller.close()


@pytest.fixture
def held(site: Site) -> Iterator[Held]:
    held = Held(site.url, site.namespace)
    yield held
    held.close()


def test_leases_are_renewed_until_they_are_dropped(held: Held) -> None:
    """Many at once, each several times in its life."""
    leases = {f"m{n}": held.take(f"m{n}") for n in range(300)}
    eventually(lambda: all(held.renewals(m) >= 2 for m in ("m0", "m150", "m299")), timeout=20)
    assert not any(lost.is_set() for _, lost in leases.values())
    for lease, _ in leases.values():
        held.renewer.drop(lease)
    before = held.renewals("m0")
    lease, _ = held.take("other")
    eventually(lambda: held.renewals("other") >= 2, timeout=20)
    assert held.renewals("m0") <= before + 1, "one may have been under way"
    held.renewer.drop(lease)


def test_a_lease_that_someone_else_has_is_lost(held: Held) -> None:
    """The server says so at the next renewal; only the loser is told."""
    lease, lost = held.take("loser")
    other, kept = held.take("keeper")
    held.caller.read(held.unit, "HSET", held.key, "loser", 8)
    assert lost.wait(10)
    assert lease.lost
    assert not kept.is_set()
    held.renewer.drop(other)


def test_a_server_that_is_silent_loses_the_lease_by_the_local_clock(
    standalone: Server, proxy: Proxy
) -> None:
    """The holder is told when the lease can have ended, not when the server is back."""
    held = Held(f"{proxy.url}?socket_timeout=5", secrets.token_hex(4))
    lease, lost = held.take("m", lease_ms=1000)
    eventually(lambda: held.renewals("m") >= 1)
    proxy.black_hole()
    began = time.monotonic()
    assert lost.wait(20)
    assert time.monotonic() - began < 15
    assert time.monotonic() >= lease.ends_at
    proxy.heal()
    held.close()


def test_an_outage_shorter_than_the_lease_loses_nothing(proxy: Proxy) -> None:
    """Renewal is tried again and again until the lease would end."""
    held = Held(f"{proxy.url}?socket_timeout=2", secrets.token_hex(4))
    lease, lost = held.take("m", lease_ms=6000)
    before = held.renewals("m")
    with proxy.refuse():
        assert not lost.wait(2.5)
    eventually(lambda: held.renewals("m") > before, timeout=20)
    assert not lease.lost
    held.close()
