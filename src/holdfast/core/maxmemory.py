"""Whether a server may drop keys by itself, and the warning that it may.

A lock or a queue that is dropped when memory is short is lost without an error. So workers and the
renewer check once per client and server, beside their work: no call waits for it. If the user may
not run the check, there is no warning; `holdfast doctor` reports what it cannot check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from ..errors import ServerRefused, ServerUnavailable
from ..errors.records import logger_of
from ._async.caller import AsyncCaller, CallKind
from .names import Unit
from .transport.settings import Address

logger = logger_of("holdfast")

_FACT: Final = re.compile(rb"^(maxmemory|maxmemory_policy):(\S+)", re.MULTILINE)


class MaxmemoryCheck:
    """Warns of servers that may drop keys: once for each server of a client."""

    def __init__(self) -> None:
        self._known: set[Address] = set()

    async def look(
        self, caller: AsyncCaller, units: Iterable[Unit], *, kind: CallKind = CallKind.ORDINARY
    ) -> None:
        """Ask the servers of *units*, as far as it is known where they live.

        One that does not answer is asked again the next time, but not for each of its units: those
        may be many, a timeout each, and who closes the client waits for the end of this.

        Args:
            caller: how to reach them.
            units: which may be dropped.
            kind: of the calls, as in `AsyncCaller.call`.
        """
        asked = set[Address]()
        for unit in units:
            address = caller.address_of(unit)
            if address is None or address in self._known or address in asked:
                continue
            asked.add(address)
            reply = None
            try:
                reply = await caller.ask(address, unit, "INFO", "memory", kind=kind)
            except ServerRefused:  # its user may not ask
                pass
            except ServerUnavailable:
                continue
            if address not in self._known:  # others may have looked meanwhile
                self._known.add(address)
                _warn(caller.settings.where(address), reply)


def _warn(where: str, reply: Any) -> None:
    """Log a warning if *reply*, what the server at *where* says of its memory, is a reason to."""
    facts = dict(_FACT.findall(reply if isinstance(reply, bytes) else b""))
    policy = facts.get(b"maxmemory_policy", b"noeviction").decode(errors="replace")
    if policy == "noeviction" or not int(facts.get(b"maxmemory", 0)):
        return
    logger.warning(
        "%s drops keys when its memory is full (maxmemory-policy %s): locks, tasks and messages "
        "may vanish without an error; CONFIG SET maxmemory-policy noeviction, and keep caches on "
        "a server of their own",
        where,
        policy,
    )
