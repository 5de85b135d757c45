"""Rates of users and addresses, for all processes of a namespace, and without the server."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from faults.monitor import watching
from faults.servers import Server
from holdfast import AsyncHoldfast, ClientClosed, Limit
from holdfast.web import Limits
from holdfast.web.problems import Problem
from holdfast.web.request_rates import ALONE_S, REMEMBERED_S, RequestRates, add_cost
from web.running import opened

DETAIL = "too many"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
async def hf(server: Server) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(server.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


class Clock:
    """Monotonic seconds, as the test sets them."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_costs_are_charged_and_corrected(hf: AsyncHoldfast) -> None:
    rate = RequestRates(hf, "app").limiter("user", Limit(10, per=3600.0))
    permit = await rate.require("jill", DETAIL, 4)
    assert permit
    await add_cost(permit, 5)
    assert permit.charged == {"requests": 9}
    with pytest.raises(Problem, match="too many; try again in 3600 s"):
        await rate.require("jill", DETAIL, 2)
    assert await rate.require("jill", DETAIL, 1)
    assert await rate.require("jill", DETAIL, 0) is None
    assert await rate.has_passed("jill")
    assert not await rate.has_passed("jack")


async def test_a_cost_above_the_limit_needs_all_of_it(hf: AsyncHoldfast) -> None:
    """Two of them pass in no less than two periods: the debt delays what comes next."""
    rate = RequestRates(hf, "app").limiter("user", Limit(10, per=2.0))
    await rate.wait_for("jill", 25)
    with pytest.raises(Problem):
        await rate.require("jill", DETAIL)
    await rate.wait_for("jill", 25)
    assert (await hf.rate_limit("app:user", Limit(10, per=2.0)).of("jill").peek()).limits


async def test_a_flood_does_not_reach_the_server(hf: AsyncHoldfast, server: Server) -> None:
    """The process refuses for a while without the server, and says when to come again."""
    clock = Clock()
    rate = RequestRates(hf, "app", clock).limiter("user", Limit(1, per=3600.0))
    await rate.require("jill", DETAIL)
    with watching(server) as watch:
        for _ in range(100):
            with pytest.raises(Problem, match="in 3600 s"):
                await rate.require("jill", DETAIL)
    assert len([words for _, words in watch.commands if "jill" in str(words)]) == 1
    await hf.rate_limit("app:user", Limit(1, per=3600.0)).of("jill").reset()
    clock.now += REMEMBERED_S
    assert await rate.require("jill", DETAIL)


async def test_a_cheaper_request_is_asked_for(hf: AsyncHoldfast) -> None:
    """One that the server refused says nothing about a cheaper one."""
    rate = RequestRates(hf, "app").limiter("user", Limit(10, per=3600.0))
    await rate.require("jill", DETAIL, 8)
    with pytest.raises(Problem):
        await rate.require("jill", DETAIL, 5)
    assert await rate.require("jill", DETAIL, 2)


async def test_without_the_server_a_process_counts_alone(
    hf: AsyncHoldfast, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    rates = RequestRates(hf, "app", clock)
    rate, other = (rates.limiter(name, Limit(3, per=3600.0)) for name in ("user", "address"))
    await rate.require("jill", DETAIL)
    server.kill()
    for _ in range(3):
        assert await rate.require("jill", DETAIL) is None
    with pytest.raises(Problem, match="in 1200 s"):
        await rate.require("jill", DETAIL)
    assert await other.require("jill", DETAIL) is None
    await other.wait_for("jill", 2)
    assert not await rate.has_passed("jill")
    clock.now += ALONE_S
    assert await rate.require("jack", DETAIL) is None
    assert [each.levelname for each in caplog.records if "alone" in each.message] == ["WARNING"]
    server.start()
    clock.now += ALONE_S
    assert await rate.require("jack", DETAIL)


@pytest.mark.parametrize("name", ["x" * 2000, "ü" * 200, "\ud800", ""])
async def test_every_name_is_counted(hf: AsyncHoldfast, name: str) -> None:
    """No name of a user makes the process count alone."""
    rates = RequestRates(hf, "app")
    rate = rates.limiter("user", Limit(1, per=3600.0))
    assert await rate.require(name, DETAIL)
    assert await rate.has_passed(name)
    with pytest.raises(Problem):
        await rate.require(name, DETAIL)
    assert await rate.require(f"{name}y", DETAIL)
    assert not rates.is_alone


async def test_a_closed_client_counts_nothing(hf: AsyncHoldfast) -> None:
    rate = RequestRates(hf, "app").limiter("user", Limit(3, per=3600.0))
    await hf.close()
    with pytest.raises(ClientClosed):
        await rate.require("jill", DETAIL)
    with pytest.raises(ClientClosed):
        await rate.wait_for("jill")


def test_a_full_server_serves_what_only_reads(server: Server) -> None:
    """Rate limiters cannot count without memory; the requests are limited all the same."""
    limits = Limits(user=Limit(5, per=3600.0))
    with opened(server.url, "full", limits) as live:
        live.hf.mailbox("jill").send("hello", sender="jack")
        server.execute("CONFIG", "SET", "maxmemory", 1)
        jill = live.of("jill")
        assert jill.get("/v1/mailbox").json()["messages"][0]["body"] == "hello"
        codes = [jill.get("/v1/mailbox/status").status_code for _ in range(5)]
        assert codes == [200] * 4 + [429]
