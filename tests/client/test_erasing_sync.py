# Generated from test_erasing_async.py by tools/unasync.py: edit that one, then `make sync`.
"""A namespace is removed, and nothing else."""

import secrets

from conftest import Site
from faults.servers import Server
from holdfast import Holdfast, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="email")
def send() -> None: ...


def filled(hf: Holdfast) -> None:
    """Something of several blocks."""
    hf.enqueue(send.call())
    hf.counter("hits").add(1)
    hf.mailbox("jack").send("x", sender="jill")
    hf.completions("guild").add("Carla")
    (hf.lock("item").acquire()).release()


def keys_of(site: Site, namespace: str) -> int:
    return len(set(site.client.scan_iter(f"{namespace}:*", count=1000)))  # may tell one twice


def test_a_namespace_is_removed(site: Site) -> None:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        filled(hf)
        there = keys_of(site, site.namespace)
        assert there > 5
        assert hf.erase_namespace() == there
        assert keys_of(site, site.namespace) == 0
        assert hf.erase_namespace() == 0


def test_other_namespaces_are_left_alone(standalone: Server) -> None:
    name = f"erase[*]{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=f"{name}-2") as other:
        other.counter("hits").add(1)
        with Holdfast.from_url(standalone.url, namespace=name) as hf:
            filled(hf)
            assert hf.erase_namespace() > 5
        assert other.counter("hits").total(60) == 1
        assert other.erase_namespace() > 0
