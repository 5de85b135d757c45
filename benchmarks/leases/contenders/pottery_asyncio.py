"""pottery's `AIORedlock` with one master."""

from __future__ import annotations

import redis.asyncio
from pottery import AIORedlock

from ..contender import AsyncHold, Asyncio, take_part


class AsyncPottery(Asyncio):
    """One `AIORedlock` per caller; they share a client."""

    async def open(self) -> None:
        self._client = redis.asyncio.Redis.from_url(self.brief.url)

    def lock(self, name: str) -> AsyncHold:
        lock = AIORedlock(key=name, masters={self._client}, auto_release_time=self.brief.lease_s)
        return lambda: lock


if __name__ == "__main__":
    take_part(AsyncPottery)
