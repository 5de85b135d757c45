"""Holdfast on asyncio."""

from __future__ import annotations

from holdfast import AsyncHoldfast

from ..contender import AsyncHold, Asyncio, take_part


class AsyncHoldfastContender(Asyncio):
    """Ours."""

    async def open(self) -> None:
        self._hf = AsyncHoldfast.from_url(self.brief.url, namespace="bench")

    def lock(self, name: str) -> AsyncHold:
        return self._hf.lock(name, lease=float(self.brief.lease_s)).hold


if __name__ == "__main__":
    take_part(AsyncHoldfastContender)
