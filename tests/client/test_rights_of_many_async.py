"""The user of `holdfast acl` may do all of Holdfast where servers are many, if each knows it."""

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from client._async.uses import READS, WRITES
from faults.clusters import Cluster
from faults.sentinels import Watched
from faults.servers import Server
from holdfast import AsyncHoldfast, Replicated, acl_rule
from holdfast.core.names import Namespace
from holdfast.locks import keys

LOGGED = 128
"""What a server remembers of denials."""


@dataclass(frozen=True)
class User:
    """One that every server knows, by the rule for the namespace of its name."""

    name: str
    url: str
    nodes: list[Server]

    @property
    def denials(self) -> list[tuple[object, object]]:
        """Return the commands that a server refused, also where Holdfast ignored that."""
        refusals = [each for node in self.nodes for each in node.shared_client.acl_log(LOGGED)]
        return [
            (each["reason"], each["object"]) for each in refusals if each["username"] == self.name
        ]


@pytest.fixture(params=["replicated", "sentinel"])
def user(request: pytest.FixtureRequest) -> Iterator[User]:
    """Start a cluster with replicas, or a primary with replicas under Sentinels without ACL."""
    place: Cluster | Watched = request.getfixturevalue(request.param)
    name = f"test-{secrets.token_hex(4)}"
    with ExitStack() as ending:
        for node in place.nodes:
            node.execute("ACL", "SETUSER", name, *acl_rule(name).split(), "on", ">secret")
            ending.callback(node.execute, "ACL", "DELUSER", name)
        yield User(name, place.url.replace("://", f"://{name}:secret@"), place.nodes)


@pytest.fixture
async def hf(user: User) -> AsyncIterator[AsyncHoldfast]:
    durability = Replicated(1, timeout=30.0)
    async with AsyncHoldfast.from_url(user.url, namespace=user.name, durability=durability) as hf:
        yield hf


@pytest.mark.parametrize("block", WRITES)
async def test_every_block_works(user: User, hf: AsyncHoldfast, tmp_path: Path, block: str) -> None:
    """Its writes, its reads and what waits; nothing is refused in silence."""
    await WRITES[block](hf, tmp_path)
    await READS[block](hf)
    assert user.denials == []


async def test_its_data_are_looked_after(user: User, hf: AsyncHoldfast) -> None:
    await hf.counter("hits").add()
    assert (await hf.audit()).units > 0
    assert {facts.slow for facts in await hf.servers()} == {None}
    assert [each.title for each in await hf.diagnose() if repr(user.name) in each.title] == []
    assert await hf.erase_namespace() > 0


@pytest.mark.parametrize("user", ["replicated"], indirect=True)
async def test_a_slot_on_its_way_is_followed(
    user: User, hf: AsyncHoldfast, replicated: Cluster
) -> None:
    await hf.fenced("stock").set("here", 1)
    slot = Namespace.of(user.name).unit(keys.FENCED, "stock").slot
    home = replicated.owner(slot)
    try:
        with replicated.moving_slot(slot, replicated.other_primary(slot)) as move:
            move.migrate()
            assert await hf.fenced("stock").get() == "here"
    finally:
        replicated.move_slot(slot, home)
    assert user.denials == []
