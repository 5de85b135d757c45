"""Every write of every block waits for its replicas; what only reads, leases or hints does not."""

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import holdfast
from client._async.uses import WRITES
from faults.monitor import watching
from faults.replicas import ReplicatedServer
from holdfast import AsyncHoldfast, Replicated
from holdfast.core.script import Script

LEASES_AND_HINTS = {
    "cache/abandon",
    "cache/claim",
    "cache/commit",
    "cache/open",
    "cache/renew",
    "cache/report",
    "idempotency/renew",
    "limits/define",
    "locks/renew",
    "queues/renew",
    "queues/await",
    "queues/emit",
    "queues/events",
    "queues/heartbeat",
    "queues/leave",
    "queues/wake",
    "messages/add_chat",
    "messages/remove_chats",
    "rows/claim_missing",
    "rows/claim_due",
    "rows/commit",
    "files/claim",
    "files/read",
    "files/end_session",
    "files/renew",
    "tallies/stage",
    "tallies/sample",
}
SOMETIMES = {"queues/step", "limits/settle"}
"""Waited for when it settles something: a claim is only a lease, and giving back only a hint."""

OF_COROUTINES = {"limits/reserve_many"}
"""Called only if coroutines write at the same time, which tests of their own do."""


def scripts_that_write(block: str) -> dict[str, Script]:
    folder = Path(str(holdfast.__file__)).parent / block / "lua"
    found = [Script.load(f"holdfast.{block}", file.stem) for file in sorted(folder.glob("*.lua"))]
    return {script.name: script for script in found if not script.readonly}


@pytest.fixture(scope="module")
def replicated() -> Iterator[ReplicatedServer]:
    with ReplicatedServer(1) as replicated:
        yield replicated


@pytest.fixture
async def hf(replicated: ReplicatedServer) -> AsyncIterator[AsyncHoldfast]:
    async with AsyncHoldfast.from_url(
        replicated.url, namespace=secrets.token_hex(4), durability=Replicated(1, timeout=30.0)
    ) as hf:
        yield hf


def test_every_block_is_here() -> None:
    folder = Path(str(holdfast.__file__)).parent
    assert {each.parent.name for each in folder.glob("*/lua")} - {"core"} == set(WRITES)


@pytest.mark.parametrize("block", WRITES)
async def test_every_write_waits(
    hf: AsyncHoldfast, replicated: ReplicatedServer, tmp_path: Path, block: str
) -> None:
    with watching(replicated.primary) as watch:
        await WRITES[block](hf, tmp_path)
    for name, script in scripts_that_write(block).items():
        calls = watch.after(script.sha1)
        waited = ["WAIT" in later for later in calls]
        if name in LEASES_AND_HINTS:
            assert not any(waited), f"{name} waits"
        elif name in SOMETIMES:
            assert any(waited), f"{name} never waits"
        else:
            assert waited or name in OF_COROUTINES, f"{name} was not called"
            assert all(waited), f"{name} does not wait"


async def test_what_reads_does_not_wait(hf: AsyncHoldfast, replicated: ReplicatedServer) -> None:
    with watching(replicated.primary) as watch:
        await hf.lock("l").inspect()
        await hf.queue("work").stats()
        await hf.mailbox("jack").fetch()
        await hf.completions("guild").search("j")
        await hf.counter("hits").samples(60)
        await hf.row_cache("stock").get(1)
        await hf.tally("daily").days()
    names = {words[0].upper() for _, words in watch.commands}
    assert "WAIT" not in names
    assert "EVALSHA" in names
