"""Read the layout version that a namespace stores."""

from __future__ import annotations

from ...core import layout
from ...core._async.caller import AsyncCaller
from ...core.names import Namespace


async def stored_version(caller: AsyncCaller, namespace: Namespace) -> int | None:
    """Return the layout version that *namespace* stores, even if unreadable; None: it has none.

    Raises:
        ServerUnavailable: the server did not answer.
        DamagedData: another program has changed the version.
    """
    unit = layout.unit_of(namespace)
    first, *_ = await caller.primaries()  # discovers the servers
    address = caller.address_of(unit) or first
    reply = await caller.ask(address, unit, "GET", layout.version(unit))
    return layout.parsed(reply, namespace, f"reading {unit}")
