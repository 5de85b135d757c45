"""Read the state of each server that has data, as far as the client's user may see it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ...core._async.caller import AsyncCaller
from ...core.names import Namespace
from ...core.transport.settings import Address
from ...errors import ServerRefused
from ..server_facts import ServerFacts
from ..server_info import SLOW_LISTED, parse_facts


async def list_servers(caller: AsyncCaller, namespace: Namespace) -> list[ServerFacts]:
    """Return the facts of each server that has data."""
    return [await facts_of(caller, namespace, address) for address in await caller.primaries()]


async def facts_of(caller: AsyncCaller, namespace: Namespace, address: Address) -> ServerFacts:
    """Return the facts of the server at *address*."""
    unit = namespace.unit("server", f"{address[0]}:{address[1]}")

    async def ask(*command: str | int) -> Any:
        return await caller.ask(address, unit, *command)

    info = await ask("INFO")
    fsync = slow = None
    with suppress(ServerRefused):
        _, value = await ask("CONFIG", "GET", "appendfsync")
        fsync = value.decode()
    with suppress(ServerRefused):
        slow = await ask("SLOWLOG", "GET", SLOW_LISTED)
    database = int(caller.settings.options.get("db") or 0)
    return parse_facts(address, database, info, fsync, slow)
