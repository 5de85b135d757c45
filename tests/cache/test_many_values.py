"""A million results with one tag are invalidated in one step, whatever their number."""

import asyncio
from typing import Any

import pytest
import redis

from faults.servers import Server
from holdfast import AsyncHoldfast

CALLERS = 200
MOST_BYTES = 400
STEP_COMMANDS = 10
"""Commands of an invalidation, those inside its script included."""


def used(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


def commands(client: redis.Redis) -> int:
    stats = client.info("commandstats")
    return sum(found["calls"] for name, found in stats.items() if name != "cmdstat_info")


@pytest.mark.parametrize("values", [1_000, pytest.param(1_000_000, marks=pytest.mark.long)])
@pytest.mark.timeout(1800)
async def test_all_values_of_a_tag_are_invalidated_in_one_step(
    fresh_server: Server, values: int
) -> None:
    client, calls = fresh_server.client(), 0
    async with AsyncHoldfast.from_url(fresh_server.url, namespace="many") as hf:

        @hf.cached(ttl=3600.0, name="profile", tags=["profiles"])
        async def profile(number: int) -> dict[str, Any]:
            nonlocal calls
            calls += 1
            return {"id": number, "name": "Jill", "version": calls}

        async def fill(first: int) -> None:
            for number in range(first, values, CALLERS):
                await profile(number)

        await profile(-1)
        before = used(client)
        await asyncio.gather(*(fill(first) for first in range(CALLERS)))
        each = (used(client) - before) / values
        print(f"{values:,} values, {each:.0f} bytes each")
        assert each < MOST_BYTES
        assert calls == values + 1

        before = commands(client)
        await hf.invalidate_tags("profiles")
        assert commands(client) - before <= STEP_COMMANDS
        for number in (0, values // 2, values - 1):
            assert await profile.peek(number) is None
            assert (await profile(number))["version"] == calls
    client.close()
