"""Holdfast: the callers of a process share one client."""

from __future__ import annotations

from holdfast import Holdfast

from ..contender import Blocking, Brief, Hold, take_part


class HoldfastContender(Blocking):
    """Ours."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._hf = Holdfast.from_url(brief.url, namespace="bench")

    def lock(self, name: str) -> Hold:
        return self._hf.lock(name, lease=float(self.brief.lease_s)).hold

    def semaphore(self, name: str, limit: int) -> Hold:
        return self._hf.semaphore(name, limit=limit, lease=float(self.brief.lease_s)).hold


if __name__ == "__main__":
    take_part(HoldfastContender)
