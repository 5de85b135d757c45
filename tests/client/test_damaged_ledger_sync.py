# Generated from test_damaged_ledger_async.py by tools/unasync.py: edit that, then run `make sync`.
"""A damaged entry of a ledger ends one write, with the name of the key; the next ones work."""

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import DecodeError, Holdfast, Retry, TaskRegistry
from holdfast.core.concurrency._sync.background_task import BackgroundTask

tasks = TaskRegistry()
ran: list[int] = []


@tasks.task(queue="work", retry=Retry(attempts=1))
def work(n: int) -> None:
    ran.append(n)


class Rows:
    def load(self, ids: list[int]) -> dict[int, int]:
        return {each: each for each in ids}


def chat_of(hf: Holdfast) -> Any:
    chat = hf.chat("talk")
    if "talk" not in hf.chats():
        hf.create_chat(["ann", "ben"], sender="ann", body=1, chat_id="talk")
    return chat


def send_to_chat(hf: Holdfast, **op: Any) -> Any:
    return (chat_of(hf)).send(2, sender="ann", **op)


def join(hf: Holdfast, **op: Any) -> Any:
    return (chat_of(hf)).join("cem", **op)


def leave(hf: Holdfast, **op: Any) -> Any:
    return (chat_of(hf)).leave("ben", **op)


Write = Callable[..., Awaitable[Any]]
WRITES: dict[str, Write] = {
    "enqueue": lambda hf, **op: hf.enqueue(work.call(1), **op),
    "enqueue many": lambda hf, **op: hf.enqueue_many([work.call(1), work.call(2)], **op),
    "cancel": lambda hf, **op: hf.queue("work").handle("one").cancel(**op),
    "pause": lambda hf, **op: hf.queue("work").pause(**op),
    "purge": lambda hf, **op: hf.queue("work").purge(**op),
    "replay": lambda hf, **op: hf.queue("work").replay(**op),
    "queue redefine": lambda hf, **op: hf.queue("work").redefine(capacity=9, **op),
    "send": lambda hf, **op: hf.mailbox("jack").send(1, sender="jill", **op),
    "mailbox redefine": lambda hf, **op: hf.mailbox("jack").redefine(capacity=9, **op),
    "chat send": send_to_chat,
    "join": join,
    "leave": leave,
    "touch": lambda hf, **op: hf.recent("ann").touch("jill", **op),
    "remove recent": lambda hf, **op: hf.recent("ann").remove("jill", **op),
    "recent redefine": lambda hf, **op: hf.recent("ann").redefine(limit=9, **op),
    "add name": lambda hf, **op: hf.completions("guild").add("jack", **op),
    "remove name": lambda hf, **op: hf.completions("guild").remove("jill", **op),
    "count": lambda hf, **op: hf.counter("hits").add(3, **op),
    "counter redefine": lambda hf, **op: hf.counter("hits").redefine(precisions=(1,), **op),
    "schedule": lambda hf, **op: hf.row_cache("stock", source=Rows()).schedule(1, every=9.0, **op),
    "unschedule": lambda hf, **op: hf.row_cache("stock", source=Rows()).unschedule(1, **op),
    "set": lambda hf, **op: hf.fenced("l").set("v", 7, **op),
    "semaphore redefine": lambda hf, **op: hf.semaphore("s", limit=2).redefine(limit=3, **op),
}

DAMAGES = (b"", b"x", b"1", b"-1 1", b"1e400 1", b"9999999999999999999 1", b"1 \x00", b"\xff\xff")


def damage(site: Site, value: bytes) -> set[str]:
    """Put *value* in place of every entry of every ledger; the keys."""
    client: Any = site.client
    found = set(client.scan_iter(match=f"{site.namespace}:*ledger:?", count=1000))
    for key in found:
        client.hset(key, mapping=dict.fromkeys(client.hkeys(key), value))
    return {key.decode() for key in found}


@pytest.mark.parametrize("name", WRITES)
def test_a_damaged_entry_ends_one_write(site: Site, name: str) -> None:
    """It names the key. What comes after it is applied, as if nothing had been there."""
    write = WRITES[name]
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        write(hf)
        for value in DAMAGES:
            damaged = damage(site, value)
            assert damaged
            for _ in range(4):  # as many writers as one write may have at once
                try:
                    write(hf)
                except DecodeError as error:
                    assert any(key in str(error) for key in damaged)  # noqa: PT017
            write(hf)


@pytest.mark.parametrize("name", WRITES)
def test_a_damaged_entry_of_a_repeated_write(site: Site, name: str) -> None:
    write = WRITES[name]
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        write(hf)
        # An operation that has no answer of its own is known by its number alone.
        for value in DAMAGES[:-2] if "redefine" in name or name == "touch" else DAMAGES:
            op_id = secrets.token_hex(4)
            write(hf, op_id=op_id)
            damage(site, value)
            with pytest.raises(DecodeError, match="ledger:"):
                write(hf, op_id=op_id)


def test_a_worker_goes_on(site: Site) -> None:
    """It takes a new name in the ledger. Its claimer is damaged before each of its steps."""
    ran.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        worker = hf.worker(tasks)
        running = BackgroundTask(worker.run)
        for n, value in enumerate(DAMAGES[:3]):
            with Holdfast.from_url(site.url, namespace=site.namespace) as other:
                other.enqueue(work.call(n))
            eventually(lambda n=n: len(ran) > n)
            damage(site, value)
        worker.stop()
        running.outcome()
    assert ran == [0, 1, 2]
