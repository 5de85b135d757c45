"""What the script of an acquisition does if a lock is held: it only queues, with few commands."""

from typing import Any

from conftest import Site
from holdfast import AsyncHoldfast
from holdfast.core.names import Namespace
from holdfast.locks import keys
from holdfast.locks.permit_scripts import ACQUIRE, RELEASE

LEASE_MS = 30_000


class Client:
    """A client that only runs scripts, for the lock `x`."""

    def __init__(self, hf: AsyncHoldfast, site: Site) -> None:
        self.unit = Namespace.of(site.namespace).unit(keys.LOCK, "x")
        self.server: Any = site.client
        self._caller = hf._resources.caller

    async def acquire(self, member: str, ticket: str = "0", limit: str = "1") -> Any:
        args = [member, LEASE_MS, limit, "channel", ticket]
        return await self._caller.call(ACQUIRE, self.unit, ACQUIRE.keys(self.unit), args)

    async def release(self, member: str, *, in_flight: int = 0, channel: str = "other") -> Any:
        args = [member, in_flight, channel, ""]
        return await self._caller.call(RELEASE, self.unit, RELEASE.keys(self.unit), args)

    def queued(self) -> list[str]:
        found = self.server.zrange(keys.wait_queue(self.unit), 0, -1)
        return [each.decode().partition(" ")[0] for each in found]

    def holders(self) -> list[bytes]:
        found: list[bytes] = self.server.zrange(keys.holders(self.unit), 0, -1)
        return found


async def held(hf: AsyncHoldfast, site: Site) -> Client:
    """Return a client of a lock that `a` holds, and that `b` has made contended."""
    client = Client(hf, site)
    assert isinstance(await client.acquire("a", ""), bytes)
    assert (await client.acquire("b"))[0] == b"queued"
    return client


async def test_they_queue_in_the_order_of_their_calls(hf: AsyncHoldfast, site: Site) -> None:
    client = await held(hf, site)
    tickets = [(await client.acquire(member))[2] for member in "cde"]
    assert client.queued() == ["b", "c", "d", "e"]
    assert sorted(tickets, key=int) == tickets
    result, messages, ticket, now_ms, ends_ms, holder = await client.acquire("c")
    assert (result, messages, ticket, holder) == (b"queued", [], tickets[0], b"a")
    assert 0 < int(ends_ms) - int(now_ms) <= LEASE_MS
    assert client.queued() == ["b", "c", "d", "e"], "a repeated call keeps its place"


async def test_the_queue_expires_when_it_is_abandoned(hf: AsyncHoldfast, site: Site) -> None:
    client = await held(hf, site)
    client.server.delete(keys.wait_queue(client.unit))
    await client.acquire("c")
    await client.acquire("d")
    assert client.server.pttl(keys.wait_queue(client.unit)) > 0
    client.server.persist(keys.wait_queue(client.unit))
    old = 1_000_000
    client.server.zadd(keys.wait_queue(client.unit), {"c channel": old, "d channel": old + 1})
    await client.acquire("e")
    assert client.server.pttl(keys.wait_queue(client.unit)) > 0, "extended once an hour"


async def test_an_acquisition_that_was_given_up_does_not_queue(
    hf: AsyncHoldfast, site: Site
) -> None:
    """Its call arrives after the release."""
    client = await held(hf, site)
    assert (await client.release("c", in_flight=1))[0] == b"gone"
    assert (await client.acquire("c"))[0] == b"ended"
    assert client.queued() == ["b"]
    assert (await client.acquire("d"))[0] == b"queued"


async def test_the_holder_that_calls_again_gets_its_permit(hf: AsyncHoldfast, site: Site) -> None:
    client = await held(hf, site)
    assert (await client.acquire("a"))[0] == b"granted"
    assert client.queued() == ["b"]


async def test_an_expired_lease_is_taken_back(hf: AsyncHoldfast, site: Site) -> None:
    client = await held(hf, site)
    client.server.delete(keys.wait_queue(client.unit))
    client.server.zadd(keys.holders(client.unit), {"a": 1})
    assert (await client.acquire("c"))[0] == b"granted"
    assert client.holders() == [b"c"]


async def test_a_lowered_limit_holds(hf: AsyncHoldfast, site: Site) -> None:
    """Two hold what is a lock now: the first release grants nothing, the second one does."""
    client = await held(hf, site)
    ends_ms = client.server.zscore(keys.holders(client.unit), "a")
    client.server.zadd(keys.holders(client.unit), {"z": ends_ms + 1000})
    assert (await client.acquire("z"))[0] == b"granted", "as a holder that calls again"
    with_channel = f"b {client.unit.key('notify:here')}"
    client.server.delete(keys.wait_queue(client.unit))
    client.server.zadd(keys.wait_queue(client.unit), {with_channel: 1})
    channel = client.unit.key("notify:here")
    assert await client.release("a", channel=channel) == [b"released", []]
    assert client.holders() == [b"z"]
    [result, [message]] = await client.release("z", channel=channel)
    assert (result, message.split()[0]) == (b"released", b"b")
    assert client.holders() == [b"?b"]
    assert client.server.pttl(keys.holders(client.unit)) > 0
