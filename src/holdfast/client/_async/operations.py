"""What operators ask of a client."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...core.transport.settings import Address
from ...errors import ServerRefused
from .data import AsyncData

if TYPE_CHECKING:
    from ...queues.worker_status import WorkerStatus
    from ..audit_report import AuditReport
    from ..doctor.finding import Finding
    from ..server_facts import ServerFacts, Topology


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
        from holdfast.queues._async.workers import list_workers

        return await list_workers(self._caller, self._namespace)

    async def servers(self) -> list[ServerFacts]:
        """How the servers are that hold data: one, or each primary of a cluster.

        What the user of this client may not ask for (`acl_rule` allows neither the slow log nor
        `CONFIG`) is None.

        Raises:
            ServerUnavailable: one of them does not answer.
        """
        return [await self._facts(address) for address in await self._caller.primaries()]

    async def diagnose(self) -> list[Finding]:
        """What is wrong, or may go wrong, with the servers that hold data; the worst first.

        Persistence, eviction, memory, replicas, slots, known security holes, clocks, slowness, and
        what the user of this client may do. Nothing is changed. What it may not look at is told as
        a note: `acl_rule` allows neither `CONFIG` nor the slow log.

        Raises:
            ServerUnavailable: one of them does not answer.
        """
        from holdfast.client._async.doctor import diagnosed

        return await diagnosed(self._caller, self._namespace, self._facts)

    async def audit(self) -> AuditReport:
        """Look at every key of this namespace, on every server, for what does not fit together.

        Each task in exactly one place, messages without holes, cursors within them, sums that add
        up, chunks for every byte of a budget, keys that expire where they should, no key that is
        nobody's. It only reads, in bounded steps, and others may go on meanwhile: what looks wrong
        is looked at again before it is told. It remembers the names of all keys while it runs.

        Raises:
            ServerUnavailable: one of the servers does not answer.
        """
        from holdfast.client._async.audit import audited

        return await audited(self._caller, self._namespace)

    async def erase_namespace(self) -> int:
        """Remove all that is in this namespace, for good; how many keys that was.

        For tests, and for tenants who have left. The server is asked for all keys that it has, a
        thousand at a time, so that nobody else has to wait; with a hundred million that takes
        minutes. Whoever still works in the namespace puts new keys there.

        Raises:
            ServerUnavailable: a server does not answer; some of it is left, so call it again.
        """
        from holdfast.client._async.erasing import erased

        return await erased(self._caller, self._namespace)

    async def _facts(self, address: Address) -> ServerFacts:
        from holdfast.client.server_facts import SLOW_LISTED, facts

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
