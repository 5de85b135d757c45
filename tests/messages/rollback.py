"""Let a server lose the latest writes, as after a restart from an older state."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from conftest import Site


@contextmanager
def rolled_back(site: Site, unit: str) -> Iterator[None]:
    """Let *unit* (such as `chat:c`) lose all writes of the context."""
    client: Any = site.client
    pattern = f"{site.namespace}:{{{unit}}}:*"
    saved = {key: (client.dump(key), client.pttl(key)) for key in client.scan_iter(pattern)}
    yield
    for key in list(client.scan_iter(pattern)):
        client.delete(key)
    for key, (dump, ttl_ms) in saved.items():
        client.restore(key, max(0, ttl_ms), dump)
    time.sleep(0.002)  # a restart takes longer than the millisecond of the lost writes
