"""Map the hash slots of a cluster to the nodes that own them. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from .settings import Address

SLOTS: Final = 16384

UNKNOWN_HOSTS: Final = ("", "?")
"""Hosts that a node reports if it does not know its own. The host that was asked is used then."""


class SlotMap:
    """The primary of each slot, as one node reported them."""

    def __init__(self, owners: list[Address | None], nodes: tuple[Address, ...]) -> None:
        self._owners = owners
        self.nodes: tuple[Address, ...] = nodes

    @classmethod
    def parse(
        cls, reply: Iterable[Any], asked: Address, remap: Callable[[Address], Address] | None
    ) -> SlotMap:
        """Return the map from the *reply* of the node at *asked* to `CLUSTER SLOTS`.

        *remap* is the user's function from an announced address to a reachable one.
        """
        owners: list[Address | None] = [None] * SLOTS
        nodes: dict[Address, None] = {}
        for first, last, primary, *_ in reply:
            host = (primary[0] or b"").decode()
            address = (asked[0] if host in UNKNOWN_HOSTS else host, int(primary[1]))
            if remap is not None:
                address = remap(address)
            nodes[address] = None
            owners[first : last + 1] = [address] * (last + 1 - first)
        return cls(owners, tuple(nodes))

    def owner(self, slot: int) -> Address | None:
        """Return the primary of *slot*; None while no node owns it."""
        return self._owners[slot]

    def owners(self) -> Iterable[Address]:
        """Return each primary that owns a slot."""
        return dict.fromkeys(owner for owner in self._owners if owner is not None)

    def moved(self, slot: int, address: Address) -> None:
        """Set the primary of *slot*, as an error `MOVED` reports it."""
        self._owners[slot] = address
        if address not in self.nodes:
            self.nodes += (address,)
