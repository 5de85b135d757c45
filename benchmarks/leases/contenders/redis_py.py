"""redis-py's `Lock`: `SET NX`, and again after `sleep`; no renewal."""

from __future__ import annotations

import redis

from ..contender import Blocking, Hold, take_part


class RedisPy(Blocking):
    """One `Lock` per caller, used again and again, which is faster than a new one each time."""

    def lock(self, name: str) -> Hold:
        client = redis.Redis.from_url(self.brief.url, single_connection_client=True)
        lock = client.lock(name, timeout=self.brief.lease_s, **self.brief.options)
        return lambda: lock


if __name__ == "__main__":
    take_part(RedisPy)
