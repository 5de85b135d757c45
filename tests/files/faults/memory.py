"""How much of a server a feed takes."""

import redis

from holdfast.core.names import Namespace
from holdfast.files import keys
from holdfast.files._async.publisher import PUT


def memory(client: redis.Redis, namespace: str) -> int:
    """What the keys of the feed `logs` take, its ledger among them.

    They are asked for by name: to look for them takes long on a server full of other keys.
    """
    unit = Namespace.of(namespace).unit(keys.KIND, "logs")
    names = [*PUT.keys(unit)] + [unit.key(f"ledger:{n}") for n in range(2)]
    return sum(client.memory_usage(name, samples=0) or 0 for name in names)
