"""Check that a server is the primary of its hash slots, as part of each ping.

A server that was replaced may still answer pings, for example after it was stopped for a while.
Other clients then write to its successor, which reports the changes on other connections.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, islice
from typing import Any, Final

from .._async.router import AsyncRouter
from ..concurrency._async.background_task import RunningTask, spawn, wait_ended
from ..names import Namespace
from ..transport._async.connection import AsyncConnection
from ..transport.outcome import Outcome, Replied
from ..transport.request import CallKind, Request
from ..transport.settings import Address, Settings
from ..transport.slots import SLOTS

ASK_S: Final = 0.2
"""Seconds to wait for the answers of sentinels."""

_TRIES: Final = 8 * SLOTS


class NotPrimary(ConnectionError):
    """The server is no primary any more."""


class Unconfirmed(Exception):
    """It is not known whether the server is a primary."""


class Standalone:
    """Assume that the only server is the primary."""

    async def slots(self, address: Address) -> frozenset[int] | None:
        """Return the slots of the server at *address*; None: all.

        Raises:
            NotPrimary: the server is no primary.
            Unconfirmed: it is not known whether it is.
        """
        del address
        return None

    async def close(self) -> None:
        """Close all connections."""


class BySentinels(Standalone):
    """Ask all sentinels for the address of the primary. At least one must answer.

    Ask all of them, because a sentinel may learn of a failover up to two seconds after another one.

    Args:
        settings: settings of the client.
    """

    def __init__(self, settings: Settings) -> None:
        self._request = Request.of("SENTINEL", "GET-MASTER-ADDR-BY-NAME", settings.service)
        self._connections = {
            address: AsyncConnection(settings, address, sentinel=True)
            for address in settings.addresses
        }
        self._asked: dict[Address, RunningTask[Outcome]] = {}

    async def slots(self, address: Address) -> None:
        """Implement `Standalone.slots`."""
        late = [each for each, asked in self._asked.items() if not asked.done()]
        fresh = [each for each in self._connections if each not in late]
        for sentinel in fresh:
            self._asked[sentinel] = spawn(self._ask(sentinel), "holdfast sentinel")
        await wait_ended(self._asked.values(), ASK_S)
        named = {
            sentinel: _primary(asked.result())
            for sentinel, asked in self._asked.items()
            if asked.done()
        }
        if others := {each for each in named.values() if each not in (None, address)}:
            raise NotPrimary(f"the primary is {others.pop()}")
        if not any(named.get(sentinel) for sentinel in fresh):
            raise Unconfirmed("no sentinel answers")

    async def _ask(self, sentinel: Address) -> Outcome:
        return await self._connections[sentinel].submit(self._request)

    async def close(self) -> None:
        """Close the connections to the sentinels."""
        for connection in self._connections.values():
            connection.abort()


class ByCluster(Standalone):
    """Ask the node for its own slots, and whether it accepts writes.

    Slots that are being moved away do not count: the node redirects clients to the other node if
    they ask for a key that does not exist.

    Args:
        router: has the connections to the nodes.
        namespace: namespace of the key with which the node is asked whether it accepts writes.
    """

    def __init__(self, router: AsyncRouter, namespace: Namespace) -> None:
        self._router = router
        self._namespace = namespace
        self._parsed: dict[Address, tuple[bytes, frozenset[int], str]] = {}

    async def slots(self, address: Address) -> frozenset[int]:
        """Implement `Standalone.slots`."""
        connection = self._router.connection(address, CallKind.ORDINARY)
        asked = [Request.of("CLUSTER", "NODES")]
        if (before := self._parsed.get(address)) and before[2]:
            asked.append(Request.of("DEL", before[2]))
        outcomes = [await outcome for outcome in connection.submit_all(asked)]
        own = _own_line(_value(outcomes[0], address))
        if before is None or before[0] != own:
            slots = _slots_in(own)
            self._parsed[address] = own, slots, self._key_in(slots)
            return await self.slots(address)  # Ask again, with a DEL of a key in a new slot.
        for outcome in outcomes:
            _value(outcome, address)
        return before[1]

    def _key_in(self, slots: frozenset[int]) -> str:
        """Return a key that never exists in one of *slots*; empty if none is found."""
        tries = islice(count(), _TRIES if slots else 0)
        units = (self._namespace.unit("near", str(n)) for n in tries)
        return next((unit.key("nothing") for unit in units if unit.slot in slots), "")


def _value(outcome: Outcome, address: Address) -> Any:
    """Return the reply of the node at *address*. Raise NotPrimary if there is none."""
    if not isinstance(outcome, Replied):
        reason = getattr(outcome, "reason", "") or f"it answered {outcome}"
        raise NotPrimary(f"{address[0]}:{address[1]}: {reason}")
    return outcome.value


def _primary(outcome: Outcome) -> Address | None:
    """Return the address that a sentinel names; None if it names none."""
    if isinstance(outcome, Replied) and outcome.value:
        host, port = outcome.value
        return host.decode(), int(port)
    return None


def _own_line(nodes: Any) -> bytes:
    """Return the flags and slots that a node reports of itself in its reply to `CLUSTER NODES`."""
    for line in bytes(nodes).splitlines():
        words = line.split(b" ")
        if len(words) >= 8 and b"myself" in words[2].split(b","):
            return b" ".join([words[2], *words[8:]])
    return b""


def _slots_in(own: bytes) -> frozenset[int]:
    """Return the slots that only this node owns, from its *own* line."""
    flags, *words = own.decode().split(" ")
    if "master" not in flags.split(","):
        return frozenset()
    moving = {int(word[1:].partition("->-")[0]) for word in words if "->-" in word}
    return frozenset(_numbers(word for word in words if not word.startswith("["))) - moving


def _numbers(ranges: Iterable[str]) -> Iterable[int]:
    for each in ranges:
        first, _, last = each.partition("-")
        yield from range(int(first), int(last or first) + 1)
