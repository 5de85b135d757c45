"""Memory that a feed takes on the server."""

import redis

from holdfast.core.names import Namespace
from holdfast.files import keys
from holdfast.files._async.publisher import PUT


def memory(client: redis.Redis, namespace: str) -> int:
    """Return the bytes that the keys of the feed `logs` take, with its ledger.

    It lists the keys by name, because a scan takes long on a server with many other keys.
    """
    unit = Namespace.of(namespace).unit(keys.KIND, "logs")
    names = [*PUT.keys(unit)] + [unit.key(f"ledger:{n}") for n in range(2)]
    return sum(client.memory_usage(name, samples=0) or 0 for name in names)
