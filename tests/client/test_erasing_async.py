"""A namespace is removed, and nothing else."""

import secrets

from conftest import Site
from faults.servers import Server
from holdfast import AsyncHoldfast, Holdfast, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="email")
def send() -> None: ...


async def filled(hf: AsyncHoldfast) -> None:
    """Something of several blocks."""
    await hf.enqueue(send.call())
    await hf.counter("hits").add(1)
    await hf.mailbox("jack").send("x", sender="jill")
    await hf.completions("guild").add("Carla")
    await (await hf.lock("item").acquire()).release()


def keys_of(site: Site, namespace: str) -> int:
    return len(set(site.client.scan_iter(f"{namespace}:*", count=1000)))  # may tell one twice


async def test_a_namespace_is_removed(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        await filled(hf)
        there = keys_of(site, site.namespace)
        assert there > 5
        assert await hf.erase_namespace() == there
        assert keys_of(site, site.namespace) == 0
        assert await hf.erase_namespace() == 0


async def test_other_namespaces_are_left_alone(standalone: Server) -> None:
    name = f"erase[*]{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=f"{name}-2") as other:
        other.counter("hits").add(1)
        async with AsyncHoldfast.from_url(standalone.url, namespace=name) as hf:
            await filled(hf)
            assert await hf.erase_namespace() > 5
        assert other.counter("hits").total(60) == 1
        assert other.erase_namespace() > 0
