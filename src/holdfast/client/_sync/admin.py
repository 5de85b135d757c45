# Generated from _async/admin.py by tools/unasync.py: edit that, then run `make sync`.
"""Read the state of each server that has data, as far as the client's user may see it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ...core._sync.caller import Caller
from ...core.names import Namespace
from ...core.transport.settings import Address
from ...errors import ServerRefused
from ..server_facts import ServerFacts
from ..server_info import SLOW_LISTED, parse_facts


def list_servers(caller: Caller, namespace: Namespace) -> list[ServerFacts]:
    """Return the facts of each server that has data."""
    return [facts_of(caller, namespace, address) for address in caller.primaries()]


def facts_of(caller: Caller, namespace: Namespace, address: Address) -> ServerFacts:
    """Return the facts of the server at *address*."""
    unit = namespace.unit("server", f"{address[0]}:{address[1]}")

    def ask(*command: str | int) -> Any:
        return caller.ask(address, unit, *command)

    info = ask("INFO")
    fsync = slow = None
    with suppress(ServerRefused):
        _, value = ask("CONFIG", "GET", "appendfsync")
        fsync = value.decode()
    with suppress(ServerRefused):
        slow = ask("SLOWLOG", "GET", SLOW_LISTED)
    database = int(caller.settings.options.get("db") or 0)
    return parse_facts(address, database, info, fsync, slow)
