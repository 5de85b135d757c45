"""Both halves of Holdfast, driven alike from blocking tests: `Half`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from typing import Any

from holdfast import AsyncHoldfast, Holdfast

HALVES = {"sync": Holdfast, "async": AsyncHoldfast}


class Half:
    """One half, with a loop of its own where it needs one; close it at the end.

    Args:
        name: `sync` or `async`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._kind = HALVES[name]
        self._runner = asyncio.Runner()
        self._clients: list[Any] = []

    def client(self, url: str, namespace: str) -> Any:
        """A client of this half, closed with it."""
        client = self._kind.from_url(url, namespace=namespace)
        self._clients.append(client)
        return client

    def do(self, answer: Any) -> Any:
        """What a method answered; in asyncio it is awaited here."""
        return self._runner.run(_awaited(answer)) if inspect.isawaitable(answer) else answer

    def close(self) -> None:
        """Close every client, then the loop."""
        for client in self._clients:
            self.do(client.close())
        self._runner.close()


async def _awaited(answer: Awaitable[Any]) -> Any:
    return await answer
