"""What operators ask of a client."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...core.connections.settings import Address
from ...errors import ServerRefused
from ..data._async import AsyncData

if TYPE_CHECKING:
    from ...queues.presence import WorkerStatus
    from .facts import ServerFacts, Topology


class AsyncOperations(AsyncData):
    """For operators and dashboards; see `AsyncHoldfast`."""

    @property
    def topology(self) -> Topology:
        """How the servers stand to each other: `standalone`, `sentinel` or `cluster`."""
        topology: Topology = self._settings.topology  # type: ignore[assignment]
        return topology

    async def workers(self) -> list[WorkerStatus]:
        """The workers of task queues that run in this namespace, the latest seen first.

        At most 1,000. A worker that was killed is listed for five minutes more, so look at how long
        it has been `silent`.
        """
        from holdfast.queues.crew._async import list_workers

        return await list_workers(self._caller, self._namespace)

    async def servers(self) -> list[ServerFacts]:
        """How the servers are that hold data: one, or each primary of a cluster.

        What the user of this client may not ask for (`acl_rule` allows neither the slow log nor
        `CONFIG`) is None.

        Raises:
            ServerUnavailable: one of them does not answer.
        """
        return [await self._facts(address) for address in await self._caller.primaries()]

    async def erase_namespace(self) -> int:
        """Remove all that is in this namespace, for good; how many keys that was.

        For tests, and for tenants who have left. The server is asked for all keys that it has, a
        thousand at a time, so that nobody else has to wait; with a hundred million that takes
        minutes. Whoever still works in the namespace puts new keys there.

        Raises:
            ServerUnavailable: a server does not answer; some of it is left, so call it again.
        """
        from holdfast.client.erasing._async import erased

        return await erased(self._caller, self._namespace)

    async def _facts(self, address: Address) -> ServerFacts:
        from holdfast.client.operations.facts import SLOW_LISTED, facts

        info = await self._ask(address, "INFO")
        fsync = slow = None
        with suppress(ServerRefused):
            _, value = await self._ask(address, "CONFIG", "GET", "appendfsync")
            fsync = value.decode()
        with suppress(ServerRefused):
            slow = await self._ask(address, "SLOWLOG", "GET", SLOW_LISTED)
        return facts(address, int(self._settings.options.get("db") or 0), info, fsync, slow)

    async def _ask(self, address: Address, *command: str | int) -> Any:
        unit = self._namespace.unit("server", f"{address[0]}:{address[1]}")
        return await self._caller.ask(address, unit, *command)
