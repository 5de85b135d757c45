"""Whether a server may drop keys by itself, and the warning that it may.

A lock or a queue that is dropped when memory is short is lost without an error. So workers, and
whoever renews leases, look once per client and server, beside their work: no call waits for it. A
user who may not look learns nothing, and is not told that either: `holdfast doctor` says what
cannot be seen.
"""

from __future__ import annotations

import logging
import re
from typing import Any, Final

logger = logging.getLogger("holdfast")

ASKED: Final = ("INFO", "memory")

_FACT: Final = re.compile(rb"^(maxmemory|maxmemory_policy):(\S+)", re.MULTILINE)


def warn(where: str, reply: Any) -> None:
    """Log a warning if the server at *where* answered `ASKED` with a policy that drops keys."""
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
