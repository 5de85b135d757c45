"""A numbered database is a world of its own: the same names mean other things in another one."""

import secrets

from faults.halves import Half
from faults.servers import Server
from holdfast import Holdfast, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="sums")
def add(a: int, b: int) -> int:
    return a + b


def test_databases_share_nothing(standalone: Server, half: Half) -> None:
    """Locks, tasks and messages, with the notifications that all databases share."""
    namespace = f"numbered-{secrets.token_hex(4)}"
    first = half.client(f"{standalone.url}/0", namespace)
    other = half.client(f"{standalone.url}/3", namespace)
    leases = [half.do(client.lock("door").try_acquire()) for client in (first, other)]
    assert all(leases)
    half.do(first.mailbox("jack").send("hello", sender="jill"))
    assert half.do(first.mailbox("jack").fetch()).messages
    assert not half.do(other.mailbox("jack").fetch()).messages
    with Holdfast.from_url(f"{standalone.url}/3", namespace=namespace) as hf:
        handle = hf.enqueue(add.call(2, 3))
        assert half.do(other.queue("sums").stats()).ready == 1
        assert half.do(first.queue("sums").stats()).ready == 0
        hf.worker(tasks).run(until_idle=True)
        assert handle.result(timeout=30) == 5
    for lease in leases:
        half.do(lease.release())
