"""Which commands a server runs, one by one."""

from __future__ import annotations

import threading
import time
from collections import Counter

import redis

from .server import OWN_COMMANDS, Server

Command = tuple[str, bool]
"""Its name, and whether a script ran it."""


def watched(server: Server, watch_s: float) -> tuple[int, Counter[Command]]:
    """Return how many commands *server* runs within *watch_s*, and which."""
    seen: Counter[Command] = Counter()
    with redis.Redis.from_url(server.url) as client, client.monitor() as monitor:

        def listen() -> None:
            questions = 0  # ours, before and after
            for entry in monitor.listen():
                name = str(entry["command"]).partition(" ")[0]
                if name == "INFO":
                    questions += 1
                    if questions == 2:
                        return
                elif questions:
                    seen[name, entry["client_type"] == "lua"] += 1

        thread = threading.Thread(target=listen, name="monitor", daemon=True)
        thread.start()
        before = server.usage()
        time.sleep(watch_s)
        after = server.usage()
        thread.join()
    return after.commands - before.commands - OWN_COMMANDS, seen
