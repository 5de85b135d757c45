"""`Replicated` and `Fsynced`: what they wait for, and the error if it does not happen."""

import contextlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from faults.replicas import ReplicatedServer, can_sync
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import (
    AsyncHoldfast,
    Fsynced,
    OutcomeUnknown,
    Replicated,
    ServerUnavailable,
    Unsupported,
)

SOON = Replicated(2, timeout=0.2)
PATIENT = Replicated(2, timeout=30.0)
NO_LOG = r"appendonly is disabled|unknown command"


@pytest.fixture(scope="module")
def replicated() -> Iterator[ReplicatedServer]:
    """Yield a shared primary with two replicas. Each test leaves them as it found them."""
    with ReplicatedServer(2) as replicated:
        yield replicated


@pytest.fixture
def namespace() -> str:
    return f"test-{secrets.token_hex(4)}"


@pytest.fixture
def syncing(standalone: Server) -> None:
    if not can_sync(standalone):
        pytest.skip("this server has no WAITAOF")


async def confirmed(error: OutcomeUnknown) -> Any:
    """Repeat the write until it is confirmed: on a busy machine replicas are slow."""
    while True:
        try:
            return await error.repeat()
        except OutcomeUnknown as later:
            error = later


@contextmanager
def paused(replicated: ReplicatedServer) -> Iterator[None]:
    replicated.replicas[0].pause()
    try:
        yield
    finally:
        replicated.replicas[0].resume()
        replicated.wait_until_whole()


def stored(server: Server, namespace: str) -> list[bytes]:
    """Return the keys of a namespace on a server."""
    return server.client().keys(f"{namespace}:*")  # type: ignore[return-value]


def written(server: Server, namespace: str) -> list[bytes]:
    """Return the keys that are neither a hint nor the version of the layout."""
    return [
        key for key in stored(server, namespace) if b"catalog" not in key and b"layout" not in key
    ]


async def test_what_returned_is_on_every_replica(
    replicated: ReplicatedServer, namespace: str
) -> None:
    async with AsyncHoldfast.from_url(
        replicated.url, namespace=namespace, durability=PATIENT
    ) as hf:
        for n in range(1, 21):
            await hf.counter("hits").add()
            for replica in replicated.replicas:
                pages = [key for key in stored(replica, namespace) if b":86400:" in key]
                days = [day for page in pages for day in replica.client().hvals(page)]
                assert sum(map(int, days)) == n


async def test_a_silent_replica_leaves_it_unknown(
    replicated: ReplicatedServer, namespace: str
) -> None:
    async with AsyncHoldfast.from_url(replicated.url, namespace=namespace, durability=SOON) as hf:
        hits = hf.counter("hits")
        with paused(replicated):
            with pytest.raises(OutcomeUnknown, match=r"of 2 replicas .* within 0\.2 s") as it:
                await hits.add(5)
            assert it.value.op_id
            assert await hits.total(60) == 5
            with pytest.raises(OutcomeUnknown):
                await it.value.repeat()
        await confirmed(it.value)
        assert await hits.total(60) == 5


async def test_a_repeat_elsewhere_is_not_taken_for_safe(
    replicated: ReplicatedServer, namespace: str
) -> None:
    url, op_id = replicated.url, ""
    with paused(replicated):
        async with AsyncHoldfast.from_url(url, namespace=namespace, durability=SOON) as first:
            with pytest.raises(OutcomeUnknown) as unknown:
                await first.fenced("stock").set("v", 7)
            op_id = unknown.value.op_id or ""
        async with AsyncHoldfast.from_url(url, namespace=namespace, durability=SOON) as second:
            with pytest.raises(OutcomeUnknown) as unknown:
                await second.fenced("stock").set("v", 7, op_id=op_id)
            assert unknown.value.op_id == op_id
    async with AsyncHoldfast.from_url(url, namespace=namespace, durability=PATIENT) as third:
        await third.fenced("stock").set("v", 7, op_id=op_id)
        assert await third.fenced("stock").get() == "v"


async def test_a_replica_that_cannot_answer_leaves_it_unknown(
    replicated: ReplicatedServer, namespace: str
) -> None:
    async with AsyncHoldfast.from_url(replicated.url, namespace=namespace, durability=SOON) as hf:
        replicated.relays[1].mute = True
        try:
            with pytest.raises(OutcomeUnknown) as unknown:
                await hf.mailbox("jack").send("hi", sender="jill")
            # On a busy machine its link may break, and cannot be opened again while it is mute.
            with contextlib.suppress(AssertionError):
                await eventually_async(lambda: stored(replicated.replicas[1], namespace), 10)
        finally:
            replicated.relays[1].mute = False
            replicated.wait_until_whole()
        assert await confirmed(unknown.value) == 1
        batch = await hf.mailbox("jack").fetch()
        assert [message.body for message in batch.messages] == ["hi"]


async def test_a_killed_replica_leaves_it_unknown(namespace: str) -> None:
    with ReplicatedServer(1) as replicated:
        durability = Replicated(1, timeout=0.2)
        async with AsyncHoldfast.from_url(
            replicated.url, namespace=namespace, durability=durability
        ) as hf:
            replicated.replicas[0].kill()
            with pytest.raises(OutcomeUnknown, match="0 of 1 replicas") as unknown:
                await hf.fenced("stock").set("v", 7)
            replicated.replicas[0].start()
            replicated.replicas[0].execute("REPLICAOF", *replicated.primary.address)
            replicated.wait_until_whole()
            await confirmed(unknown.value)
            assert stored(replicated.replicas[0], namespace)


async def test_what_is_harmless_is_waited_for_as_long_as_a_call_may_take(
    replicated: ReplicatedServer, namespace: str
) -> None:
    """It has no name to be repeated by: calling again is what one does."""
    url = f"{replicated.url}?socket_timeout=2"
    async with AsyncHoldfast.from_url(
        replicated.url, namespace=namespace, durability=PATIENT
    ) as hf:
        await hf.mailbox("jack").send("hi", sender="jill")
        async with AsyncHoldfast.from_url(url, namespace=namespace, durability=SOON) as hasty:
            assert (await hasty.mailbox("jack").status()).unread == 1
            with paused(replicated), pytest.raises(ServerUnavailable, match="of 2 replicas"):
                await hasty.mailbox("jack").ack(1)
        await hf.mailbox("jack").ack(1)
        assert (await hf.mailbox("jack").status()).read_seq == 1


async def test_leases_are_renewed_without_replicas(
    replicated: ReplicatedServer, namespace: str
) -> None:
    async with AsyncHoldfast.from_url(
        replicated.url, namespace=namespace, durability=PATIENT
    ) as hf:
        lease = await hf.lock("l", lease=60.0, auto_renew=False).acquire()
        with paused(replicated):
            await lease.renew()
        await lease.release()


async def test_scripts_may_be_forgotten(replicated: ReplicatedServer, namespace: str) -> None:
    """The source goes once more, and still leaves nothing but what it wrote."""
    async with AsyncHoldfast.from_url(
        replicated.url, namespace=namespace, durability=PATIENT
    ) as hf:
        await hf.fenced("stock").set("v", 7)
        there = set(stored(replicated.primary, namespace))
        replicated.primary.execute("SCRIPT", "FLUSH")
        await hf.fenced("stock").set("w", 8)
        assert set(stored(replicated.primary, namespace)) == there
        assert await hf.fenced("stock").get() == "w"


async def test_a_full_server_still_frees_memory_durably(namespace: str) -> None:
    with ReplicatedServer(1, "--maxmemory-policy", "noeviction") as replicated:
        durability = Replicated(1, timeout=30.0)
        async with AsyncHoldfast.from_url(
            replicated.url, namespace=namespace, durability=durability
        ) as hf:
            lease = await hf.lock("l").acquire()
            replicated.primary.execute("CONFIG", "SET", "maxmemory", "1")
            await lease.release()
            replicated.primary.execute("CONFIG", "SET", "maxmemory", "0")
            assert (await hf.lock("l").inspect()).holder is None


@pytest.mark.usefixtures("syncing")
async def test_what_returned_is_on_disk(namespace: str) -> None:
    """It survives a kill though the server syncs only every second; not synced is unknown."""
    options = ("--save", "", "--appendonly", "yes", "--appendfsync", "everysec")
    with Server(*options) as server:
        durability = Fsynced(timeout=30.0)
        async with AsyncHoldfast.from_url(
            server.url, namespace=namespace, durability=durability
        ) as hf:
            await hf.fenced("stock").set("v", 7)
            server.kill()
            server.start()
            assert await hf.fenced("stock").get() == "v"
        server.execute("CONFIG", "SET", "appendfsync", "no")
        async with AsyncHoldfast.from_url(
            server.url, namespace=namespace, durability=Fsynced(timeout=0.2)
        ) as hf:
            with pytest.raises(OutcomeUnknown, match="it was not on disk within") as unknown:
                await hf.fenced("stock").set("w", 8)
            server.execute("CONFIG", "SET", "appendfsync", "always")
            await confirmed(unknown.value)
            assert await hf.fenced("stock").get() == "w"


@pytest.mark.usefixtures("syncing")
async def test_a_server_that_stops_to_sync_is_found_out(namespace: str) -> None:
    """The first write finds that there is no answer, the next one why, before it is made."""
    with Server("--appendonly", "yes") as server:
        async with AsyncHoldfast.from_url(
            server.url, namespace=namespace, durability=Fsynced(timeout=30.0)
        ) as hf:
            await hf.fenced("stock").set("v", 7)
            server.execute("CONFIG", "SET", "appendonly", "no")
            with pytest.raises(OutcomeUnknown, match="appendonly is disabled") as unknown:
                await hf.fenced("stock").set("w", 8)
            with pytest.raises(Unsupported):
                await hf.fenced("stock").set("x", 9)
            assert await hf.fenced("stock").get() == "w"
            server.execute("CONFIG", "SET", "appendonly", "yes")
            await confirmed(unknown.value)


@pytest.mark.usefixtures("syncing")
async def test_what_returned_is_on_the_disks_of_replicas(namespace: str) -> None:
    """If that is asked for; a replica that keeps nothing confirms nothing."""
    with ReplicatedServer(
        1, "--save", "", "--appendonly", "yes", "--appendfsync", "always"
    ) as replicated:
        async with AsyncHoldfast.from_url(
            replicated.url, namespace=namespace, durability=Fsynced(1, timeout=30.0)
        ) as hf:
            await hf.fenced("stock").set("v", 7)
        replicated.replicas[0].execute("CONFIG", "SET", "appendonly", "no")
        async with AsyncHoldfast.from_url(
            replicated.url, namespace=namespace, durability=Fsynced(1, timeout=0.2)
        ) as hf:
            with pytest.raises(OutcomeUnknown, match="0 of 1 replicas"):
                await hf.fenced("stock").set("w", 8)


async def test_a_server_without_a_log_cannot_sync(standalone: Server, namespace: str) -> None:
    url = standalone.url
    with pytest.raises(Unsupported, match=NO_LOG) as raised:
        await begun(url, namespace, Fsynced())
    assert "Fsynced(replicas=0, timeout=5.0)" in raised.value.reason
    assert not stored(standalone, namespace)


async def test_a_client_that_is_made_sends_nothing(standalone: Server, namespace: str) -> None:
    """The server is checked at the first write, where no context was entered."""
    hf = AsyncHoldfast.from_url(standalone.url, namespace=namespace, durability=Fsynced())
    try:
        with pytest.raises(Unsupported, match=NO_LOG):
            await hf.counter("hits").add()
    finally:
        await hf.close()
    assert not written(standalone, namespace)


@pytest.mark.usefixtures("syncing")
async def test_an_old_server_cannot_sync(namespace: str) -> None:
    with (
        Server("--rename-command", "WAITAOF", "", "--appendonly", "yes") as server,
        pytest.raises(Unsupported, match="unknown command"),
    ):
        await begun(server.url, namespace, Fsynced())


async def test_a_user_who_may_not_wait_cannot(standalone: Server, namespace: str) -> None:
    rule = ("on", ">secret", "~*", "&*", "+@all", "-wait")
    standalone.execute("ACL", "SETUSER", namespace, *rule)
    url = standalone.url.replace("://", f"://{namespace}:secret@")
    try:
        with pytest.raises(Unsupported, match="NOPERM"):
            await begun(url, namespace, Replicated())
    finally:
        standalone.execute("ACL", "DELUSER", namespace)


async def test_a_server_that_is_away_is_asked_by_the_first_write(namespace: str) -> None:
    """Its absence is no reason not to begin; each node is asked before it is written to."""
    with Server() as server:
        server.kill()
        async with AsyncHoldfast.from_url(
            server.url, namespace=namespace, durability=Fsynced()
        ) as hf:
            with pytest.raises(ServerUnavailable):
                await hf.counter("hits").add()
            server.start()
            with pytest.raises(Unsupported, match="counters/add on counter 'hits'"):
                await hf.counter("hits").add()
            with pytest.raises(Unsupported):
                await flushed(hf)
            assert await hf.counter("hits").total(60) == 0
            assert not written(server, namespace)


async def begun(url: str, namespace: str, durability: Replicated | Fsynced) -> None:
    """Open a client, and do nothing with it."""
    async with AsyncHoldfast.from_url(url, namespace=namespace, durability=durability):
        pass


async def flushed(hf: AsyncHoldfast) -> None:
    """Two counts that travel together."""
    buffer = hf.counter_buffer(flush_every=3600)
    buffer.add("hits")
    buffer.add("misses")
    await buffer.flush()


@pytest.mark.parametrize(
    ("kind", "arguments", "error"),
    [
        (Replicated, {"replicas": 0}, ValueError),
        (Replicated, {"replicas": "1"}, TypeError),
        (Replicated, {"replicas": True}, TypeError),
        (Replicated, {"timeout": 0}, ValueError),
        (Fsynced, {"replicas": -1}, ValueError),
        (Fsynced, {"timeout": None}, TypeError),
    ],
)
def test_wrong_arguments(kind: type, arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"replicas|timeout"):
        kind(**arguments)


def test_what_no_client_can_have() -> None:
    with pytest.raises(TypeError, match="durability must be Replicated"):
        AsyncHoldfast.from_url("redis://localhost", durability="replicated")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="an embedded server has no replicas"):
        AsyncHoldfast.embedded(durability=Replicated())
