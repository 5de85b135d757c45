"""A server that may drop keys: workers and holders say so in the log, once."""

import asyncio
import logging

import pytest

from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, Holdfast, TaskRegistry
from holdfast.core._async.caller import AsyncCaller
from holdfast.core.maxmemory import MaxmemoryCheck
from holdfast.core.names import Namespace
from holdfast.core.transport.settings import Settings

POLICY = "maxmemory-policy"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = [record for record in caplog.records if POLICY in record.getMessage()]
    assert {record.name for record in records} <= {"holdfast"}
    assert {record.levelno for record in records} <= {logging.WARNING}
    return [record.getMessage() for record in records]


def limited(server: Server, policy: str, limit: str = "100mb") -> Server:
    """Set the memory limit and the eviction policy of the server, and return it."""
    server.execute("CONFIG", "SET", "maxmemory", limit, POLICY, policy)
    return server


async def test_a_worker_warns_that_its_server_drops_keys(
    fresh_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    limited(fresh_server, "allkeys-lru")
    tasks, ran = TaskRegistry(), asyncio.Event()

    @tasks.task(queue="email")
    async def send() -> None:
        ran.set()

    async with AsyncHoldfast.from_url(fresh_server.url) as hf:
        for _ in range(2):
            worker = hf.worker(tasks)
            running = asyncio.create_task(worker.run())
            await eventually_async(lambda: warnings(caplog))
            await hf.enqueue(send.call())
            await eventually_async(ran.is_set)
            worker.stop()
            await running
            ran.clear()
    [text] = warnings(caplog)
    assert f"127.0.0.1:{fresh_server.port} drops keys when its memory is full" in text
    assert f"{POLICY} allkeys-lru" in text
    assert f"CONFIG SET {POLICY} noeviction" in text


def test_a_lock_that_is_held_for_a_while_warns(
    fresh_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    limited(fresh_server, "volatile-ttl")
    with Holdfast.from_url(fresh_server.url) as hf, hf.lock("item").hold():
        eventually(lambda: warnings(caplog))
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize(
    ("policy", "limit", "rights", "times"),
    [
        ("allkeys-lru", "100mb", [], 1),
        ("noeviction", "100mb", [], 0),
        ("allkeys-lru", "0", [], 0),
        ("allkeys-lru", "100mb", ["-info"], 0),
    ],
    ids=["drops", "drops nothing", "has no limit", "may not be asked"],
)
async def test_only_a_known_wrong_policy_is_reported(
    fresh_server: Server,
    caplog: pytest.LogCaptureFixture,
    policy: str,
    limit: str,
    rights: list[str],
    times: int,
) -> None:
    limited(fresh_server, policy, limit)
    allowed = ["allkeys", "allchannels", "allcommands", *rights]
    fresh_server.execute("ACL", "SETUSER", "app", "on", ">secret", *allowed)
    settings = Settings.from_url(f"redis://app:secret@127.0.0.1:{fresh_server.port}")
    unit, maxmemory_check = Namespace.of("eviction").unit("lock", "item"), MaxmemoryCheck()
    for _ in range(2):
        caller = AsyncCaller(settings)
        await maxmemory_check.check(caller, [unit])
        await maxmemory_check.check(caller, [unit])
        await caller.close()
    assert len(warnings(caplog)) == times
    assert maxmemory_check._checked == {("127.0.0.1", fresh_server.port)}


async def test_a_server_that_was_away_is_asked_the_next_time(
    fresh_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    limited(fresh_server, "allkeys-lru").pause()
    settings = Settings.from_url(f"{fresh_server.url}?socket_timeout=0.05")
    unit, caller = Namespace.of("eviction").unit("lock", "item"), AsyncCaller(settings)
    maxmemory_check = MaxmemoryCheck()
    await maxmemory_check.check(caller, [unit])
    assert maxmemory_check._checked == set()
    fresh_server.resume()

    async def warned() -> list[str]:
        await maxmemory_check.check(caller, [unit])
        return warnings(caplog)

    await eventually_async(warned)
    await caller.close()


async def test_a_server_that_hangs_is_asked_once_for_many_units(fresh_server: Server) -> None:
    settings = Settings.from_url(f"{fresh_server.url}?socket_timeout=0.1")
    namespace, caller, maxmemory_check = (
        Namespace.of("eviction"),
        AsyncCaller(settings),
        MaxmemoryCheck(),
    )
    units = [namespace.unit("lock", f"l{n}") for n in range(1000)]
    fresh_server.pause()
    async with asyncio.timeout(30):
        await maxmemory_check.check(caller, units)
        await caller.close()
    fresh_server.resume()
    assert maxmemory_check._checked == set()
