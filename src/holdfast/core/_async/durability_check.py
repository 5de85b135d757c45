"""Check that servers can make writes as durable as a client requires."""

from __future__ import annotations

from ...errors import ServerUnavailable, Unsupported
from ..transport.outcome import Unable
from .caller import AsyncCaller


async def check_durability(caller: AsyncCaller) -> None:
    """Check that all servers can make writes as durable as the settings of *caller* require.

    A server that does not answer is checked later, before the first durable call to it.

    Raises:
        Unsupported: a server cannot make writes so durable.
    """
    if caller.settings.durability is None:
        return
    try:
        found = await caller.primaries()
    except ServerUnavailable:
        return
    router = caller.sessions.get().router
    for address in found:
        problem = await caller.delivery.durability_problem(router, address)
        if isinstance(problem, Unable):
            await caller.close_connections()
            raise Unsupported("opening the client", problem.reason, harmless=True)
