"""Warn if a server is configured to evict keys when its memory is full.

A lock or a queue that the server evicts is lost without an error. So workers and the renewer check
each server once per client, in the background. If the client's user may not run INFO, there is no
warning; `holdfast doctor` reports that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from ..errors import ServerRefused, ServerUnavailable
from ..errors.one_line_logger import logger_of
from ._async.caller import AsyncCaller, CallKind
from .names import Unit
from .transport.settings import Address

logger: Final = logger_of("holdfast")

_FACT: Final = re.compile(rb"^(maxmemory|maxmemory_policy):(\S+)", re.MULTILINE)


class MaxmemoryCheck:
    """Warns of servers that may evict keys: once for each server of a client."""

    def __init__(self) -> None:
        self._checked: set[Address] = set()

    async def check(
        self, caller: AsyncCaller, units: Iterable[Unit], *, kind: CallKind = CallKind.ORDINARY
    ) -> None:
        """Read the memory settings of the servers of *units*, and warn if one may evict keys.

        Skip units with a server that is not known yet. If a server does not answer, the next call
        asks it again. This call does not, because closing the client waits for this call, and each
        request to that server would cost a timeout.

        Args:
            caller: sends the calls.
            units: the units of the servers to check.
            kind: which connection sends the calls, as in `AsyncCaller.call`.
        """
        asked = set[Address]()
        for unit in units:
            address = caller.address_of(unit)
            if address is None or address in self._checked or address in asked:
                continue
            asked.add(address)
            reply = None
            try:
                reply = await caller.ask(address, unit, "INFO", "memory", kind=kind)
            except ServerRefused:  # The user has no permission to run INFO: do not ask again.
                pass
            except ServerUnavailable:
                continue
            if address not in self._checked:  # A concurrent check may have warned.
                self._checked.add(address)
                _warn(caller.settings.where(address), reply)


def _warn(where: str, reply: Any) -> None:
    """Log a warning if the INFO *reply* of the server *where* shows that it may evict keys."""
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
