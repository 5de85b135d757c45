# Generated from _async/layout_version.py by tools/unasync.py: edit that, then run `make sync`.
"""Read the layout version that a namespace stores."""

from __future__ import annotations

from ...core import layout
from ...core._sync.caller import Caller
from ...core.names import Namespace


def stored_version(caller: Caller, namespace: Namespace) -> int | None:
    """Return the layout version that *namespace* stores, even if unreadable; None: it has none.

    Raises:
        ServerUnavailable: the server did not answer.
        DamagedData: another program has changed the version.
    """
    unit = layout.unit_of(namespace)
    first, *_ = caller.primaries()  # discovers the servers
    address = caller.address_of(unit) or first
    reply = caller.ask(address, unit, "GET", layout.version(unit))
    return layout.parsed(reply, namespace, f"reading {unit}")
