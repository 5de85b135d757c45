"""pottery's `Redlock`, one master: `SET NX` from a thread pool, and again within 200 ms."""

from __future__ import annotations

import redis
from pottery import Redlock

from ..contender import Blocking, Hold, take_part


class Pottery(Blocking):
    """One `Redlock` per caller."""

    def lock(self, name: str) -> Hold:
        client = redis.Redis.from_url(self.brief.url)
        lock = Redlock(key=name, masters={client}, auto_release_time=self.brief.lease_s)
        return lambda: lock


if __name__ == "__main__":
    take_part(Pottery)
