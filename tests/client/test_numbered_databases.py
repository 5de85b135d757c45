"""A numbered database is a world of its own: the same names mean other things in another one."""

import secrets
from collections.abc import Iterator

import pytest

from faults.clusters import Cluster
from faults.halves import Half
from faults.servers import Server
from holdfast import Holdfast, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="sums")
def add(a: int, b: int) -> int:
    return a + b


@pytest.fixture(scope="module")
def numbered(standalone: Server) -> Iterator[Cluster]:
    """Yield a cluster with several databases."""
    if not standalone.execute("CONFIG GET", "cluster-databases"):
        pytest.skip("the clusters of this server have one database; those of Valkey 9 have more")
    with Cluster(3, "--cluster-databases", "16") as cluster:
        yield cluster


@pytest.mark.parametrize("topology", ["standalone", "numbered"])
def test_databases_share_nothing(request: pytest.FixtureRequest, topology: str, half: Half) -> None:
    """Locks, tasks and messages, with the notifications that all databases share."""
    url = request.getfixturevalue(topology).url
    namespace = f"numbered-{secrets.token_hex(4)}"
    first = half.client(f"{url}/0", namespace)
    other = half.client(f"{url}/3", namespace)
    leases = [half.do(client.lock("door").try_acquire()) for client in (first, other)]
    assert all(leases)
    half.do(first.mailbox("jack").send("hello", sender="jill"))
    assert half.do(first.mailbox("jack").fetch()).messages
    assert not half.do(other.mailbox("jack").fetch()).messages
    with Holdfast.from_url(f"{url}/3", namespace=namespace) as hf:
        handle = hf.enqueue(add.call(2, 3))
        assert half.do(other.queue("sums").stats()).ready == 1
        assert half.do(first.queue("sums").stats()).ready == 0
        hf.worker(tasks).run(until_idle=True)
        assert handle.result(timeout=30) == 5
    for lease in leases:
        half.do(lease.release())
