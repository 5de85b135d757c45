"""python-redis-lock: `SET NX`, and `BLPOP` of a signal that the holder leaves."""

from __future__ import annotations

import redis
import redis_lock

from ..contender import Blocking, Hold, take_part


class PythonRedisLock(Blocking):
    """One `Lock` per caller; with `auto_renewal` it starts a thread for each acquisition."""

    def lock(self, name: str) -> Hold:
        renewed = self.brief.options.get("auto_renewal", False)
        client = redis.Redis.from_url(
            self.brief.url,
            single_connection_client=not renewed,  # with renewal two threads use it
            socket_timeout=None,  # the default ends a BLPOP that waits for longer
        )
        lock = redis_lock.Lock(client, name, expire=self.brief.lease_s, auto_renewal=renewed)
        return lambda: lock


if __name__ == "__main__":
    take_part(PythonRedisLock)
