"""redis-py's `Lock` on asyncio."""

from __future__ import annotations

from typing import Any

import redis.asyncio

from ..contender import AsyncHold, Asyncio, take_part


class AsyncRedisPy(Asyncio):
    """One `Lock` per caller, used again and again."""

    async def open(self) -> None:
        self._single = self.brief.options.get("single", False)
        self._client: Any = redis.asyncio.Redis.from_url(self.brief.url)

    def lock(self, name: str) -> AsyncHold:
        client = self._client
        if self._single:
            client = redis.asyncio.Redis.from_url(self.brief.url, single_connection_client=True)
        lock = client.lock(name, timeout=self.brief.lease_s)
        return lambda: lock


if __name__ == "__main__":
    take_part(AsyncRedisPy)
