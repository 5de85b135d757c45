"""The renewer: it renews leases until they are dropped, and reports a loss in time."""

import secrets
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast.core._sync.caller import Caller
from holdfast.core.clock import since_boot
from holdfast.core.concurrency._sync.primitives import Event
from holdfast.core.names import Namespace, Unit
from holdfast.core.renewer import RenewedLease, Renewer, _RenewalLoop
from holdfast.core.script import Script
from holdfast.core.transport.settings import Settings

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

    def take(self, member: str, lease_ms: int = 4500) -> tuple[RenewedLease, Event]:
        lost = Event()
        self.caller.read(self.unit, "HSET", self.key, member, 7)
        lease = RenewedLease(
            self.unit, RENEW, [self.key], member.encode(), 7, lease_ms, since_boot(), lost.set
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
    leases = {f"m{n}": held.take(f"m{n}") for n in range(300)}
    eventually(lambda: all(held.renewals(m) >= 2 for m in ("m0", "m150", "m299")))
    assert not any(lost.is_set() for _, lost in leases.values())
    for lease, _ in leases.values():
        held.renewer.drop(lease)
    before = held.renewals("m0")
    lease, _ = held.take("other")
    eventually(lambda: held.renewals("other") >= 2)
    assert held.renewals("m0") <= before + 1, "one may have been under way"
    held.renewer.drop(lease)


def test_a_lease_that_someone_else_has_is_lost(held: Held) -> None:
    lease, lost = held.take("loser")
    other, kept = held.take("keeper")
    held.caller.read(held.unit, "HSET", held.key, "loser", 8)
    assert lost.wait(60)
    assert lease.lost
    assert not kept.is_set()
    held.renewer.drop(other)


def test_a_server_that_is_silent_loses_the_lease_by_the_local_clock(
    standalone: Server, proxy: Proxy
) -> None:
    held = Held(f"{proxy.url}?socket_timeout=5", secrets.token_hex(4))
    lease, lost = held.take("m", lease_ms=3000)
    eventually(lambda: held.renewals("m") >= 1)
    proxy.black_hole()
    assert lost.wait(60)
    assert since_boot() >= lease.ends_at
    proxy.heal()
    held.close()


def test_an_outage_shorter_than_the_lease_loses_nothing(proxy: Proxy) -> None:
    """Renewal is tried again and again until the lease would end."""
    held = Held(f"{proxy.url}?socket_timeout=2", secrets.token_hex(4))
    lease, lost = held.take("m", lease_ms=6000)
    before = held.renewals("m")
    with proxy.refuse():
        assert not lost.wait(2.5)
    eventually(lambda: held.renewals("m") > before)
    assert not lease.lost
    held.close()


def test_a_lease_that_is_held_long_enough_is_renewed_no_more(held: Held) -> None:
    """It ends when it was to end, though the server would have given more."""
    lease, lost = held.take("m", lease_ms=3000)
    lease.until = since_boot() + 1.5
    assert lease.ends_at == lease.due_at == lease.until
    assert lost.wait(60)
    assert since_boot() >= lease.until
    assert held.renewals("m") == 0


def test_a_margin_ends_a_lease_sooner_here_than_there(held: Held) -> None:
    lease, _ = held.take("m")
    whole = lease.ends_at
    lease.margin_ms = 500
    assert lease.ends_at == pytest.approx(whole - 0.5)
    held.renewer.drop(lease)


def test_a_holder_that_cannot_be_notified_does_not_affect_others(
    held: Held, caplog: pytest.LogCaptureFixture
) -> None:
    """The renewer still renews the other leases, and logs the error."""
    other, other_lost = held.take("other", lease_ms=6000)
    lease, _ = held.take("m", lease_ms=6000)

    def refuse() -> None:
        raise RuntimeError("can't start new thread")

    lease.on_lost = refuse
    lease.until = since_boot() + 0.3
    eventually(lambda: lease.lost)
    so_far = held.renewals("other")
    eventually(lambda: held.renewals("other") > so_far)
    assert not other_lost.is_set()
    held.renewer.drop(other)
    assert "a lease of lock 'l' could not be notified of its loss" in caplog.text


def test_leases_of_a_moment_wake_a_sleeping_renewer_once(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(standalone.url, secrets.token_hex(4))
    lease, _ = held.take("first")
    held.renewer.drop(lease)
    [loop] = held.renewer._loops.values()
    eventually(lambda: loop.asleep)
    woken, began = [], time.monotonic()
    monkeypatch.setattr(loop, "wake", lambda: (woken.append(1), _RenewalLoop.wake(loop)))
    for _ in range(100):
        lease, _ = held.take("again")
        held.renewer.drop(lease)
    lease, _ = held.take("kept")
    eventually(lambda: held.renewals("kept") >= 1)
    # On a slow machine it has the seconds that it takes to fall asleep again.
    assert 1 <= len(woken) <= 1 + int((time.monotonic() - began) / 2)
    held.close()


FORGETFUL = """
import gc, sys, time
from holdfast import Holdfast

hf = Holdfast.from_url(sys.argv[1], namespace="forgetful")
with hf.lock("once").hold():
    pass
time.sleep(2.6)  # by now the renewer has fallen asleep
if sys.argv[2] == "dropped":
    del hf
    gc.collect()
"""


@pytest.mark.parametrize("client", ["dropped", "kept"])
def test_a_client_that_is_never_closed_ends_without_a_warning(
    standalone: Server, client: str
) -> None:
    command = [sys.executable, "-c", FORGETFUL, standalone.url, client]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stderr == ""
