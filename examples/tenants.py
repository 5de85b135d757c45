"""Tenants share workers: one with much to do slows down no other, and no API is overrun.

    python examples/tenants.py [URL]

Each tenant has an API of its own, which allows two calls at once, and answers 429 now and then.
Without a URL the program starts a server of its own (extra `server`).
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from dataclasses import dataclass, field

from holdfast import AsyncHoldfast, Limit, PerKey, RetryAfter, TaskRegistry

PAGES = {"acme": 200, "umbra": 10, "wonka": 10}

tasks = TaskRegistry()


class TooManyRequests(Exception):
    """The API answers 429."""


@dataclass
class Api:
    """The API of one tenant: it counts its calls, and refuses the thirtieth."""

    loaded: Counter[int] = field(default_factory=Counter)
    running: int = 0
    most: int = 0
    calls: int = 0

    async def load(self, page: int) -> None:
        """Load a page."""
        self.calls += 1
        if self.calls == 30:
            raise TooManyRequests
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.005)
        self.running -= 1
        self.loaded[page] += 1


apis = {tenant: Api() for tenant in PAGES}
ended: list[str] = []
"""The tenants of the pages, in the order in which they were loaded."""


@tasks.task(queue="sync", limit=PerKey("tenant", concurrency=2), fair_by="tenant")
async def load_page(tenant: str, page: int) -> None:
    """Load one page of a tenant. If its API is busy, all pages of this tenant wait a moment."""
    try:
        await apis[tenant].load(page)
    except TooManyRequests:
        raise RetryAfter(0.3, "429", scope="key") from None
    ended.append(tenant)


async def accepted(hf: AsyncHoldfast, tenant: str, requests: int) -> int:
    """Return how many of the *requests* of a tenant are let in: at most ten a minute."""
    door = hf.rate_limit("door", Limit(10, per=60.0)).of(tenant)
    return sum([bool(await door.try_acquire()) for _ in range(requests)])


async def main(url: str) -> None:
    """Load all pages of all tenants with one worker of 16 slots."""
    hf = AsyncHoldfast.from_url(url) if url else AsyncHoldfast.embedded()
    async with hf:
        for tenant, pages in PAGES.items():  # acme comes first
            await hf.enqueue_many([load_page.call(tenant, page) for page in range(pages)])
        await hf.worker(tasks, concurrency=16).run(until_idle=True)
        let_in = [await accepted(hf, "acme", 15), await accepted(hf, "umbra", 10)]
    print(f"most calls of one tenant at once: {max(api.most for api in apis.values())}")
    counts = [count for api in apis.values() for count in api.loaded.values()]
    often = "each once" if set(counts) == {1} else "some twice"
    print(f"all {len(counts)} pages were loaded, {often}")
    last = {tenant: max(i for i, each in enumerate(ended) if each == tenant) for tenant in PAGES}
    *others, slowest = sorted(PAGES, key=lambda tenant: last[tenant])
    print(f"{' and '.join(sorted(others))} were done before {slowest}")
    refused = f"{15 - let_in[0]} of 15 requests of acme, {10 - let_in[1]} of 10 of umbra"
    print(f"refused at the door: {refused}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
