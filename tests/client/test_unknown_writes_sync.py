# Generated from test_unknown_writes_async.py by tools/unasync.py: edit that one, then `make sync`.
"""A write that too few replicas confirm is unknown, and repeated it is applied once."""

import secrets
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

import pytest

from faults.servers import Server
from holdfast import Holdfast, OutcomeUnknown, Replicated, Retry, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="work", retry=Retry(attempts=1))
def work(n: int) -> None:
    raise ValueError(n)


class Case(NamedTuple):
    """One write.

    Attributes:
        write: it, with or without an `op_id`.
        look: what shows how often it was applied.
        once: what that is after one time.
        before: what has to be there.
    """

    write: Callable[..., Awaitable[Any]]
    look: Callable[[Holdfast], Awaitable[Any]]
    once: Any
    before: Callable[[Holdfast], Awaitable[Any]] | None = None


def two_tasks(hf: Holdfast) -> None:
    hf.enqueue_many([work.call(1).options(task_id="one"), work.call(2)])


def one_dead(hf: Holdfast) -> None:
    hf.enqueue(work.call(1).options(task_id="one"))
    hf.worker(tasks).run(until_idle=True)


def a_chat(hf: Holdfast) -> None:
    hf.create_chat(["ann", "ben"], sender="ann", body=1, chat_id="talk")


def a_name(hf: Holdfast) -> None:
    hf.completions("guild").add("jill")


def in_line(hf: Holdfast) -> int:
    return (hf.queue("work").stats()).ready


def dead(hf: Holdfast) -> int:
    return len(hf.queue("work").dead())


def unread(hf: Holdfast) -> int:
    return (hf.mailbox("jack").status()).unread


def talked(hf: Holdfast) -> int:
    return len(hf.chat("talk").history())


def members(hf: Holdfast) -> list[str]:
    return sorted(hf.chat("talk").members())


CASES = {
    "fenced": Case(
        lambda hf, **op: hf.fenced("l").set("v", 7, **op), lambda hf: hf.fenced("l").get(), "v"
    ),
    "enqueue": Case(lambda hf, **op: hf.enqueue(work.call(1), **op), in_line, 1),
    "enqueue many": Case(
        lambda hf, **op: hf.enqueue_many([work.call(1), work.call(2)], **op), in_line, 2
    ),
    "cancel": Case(
        lambda hf, **op: hf.queue("work").handle("one").cancel(**op), in_line, 1, two_tasks
    ),
    "purge": Case(lambda hf, **op: hf.queue("work").purge(**op), in_line, 0, two_tasks),
    "replay": Case(lambda hf, **op: hf.queue("work").replay(**op), dead, 0, one_dead),
    "send": Case(lambda hf, **op: hf.mailbox("jack").send(1, sender="jill", **op), unread, 1),
    "create": Case(
        lambda hf, **op: hf.create_chat(["ann"], sender="ann", body=1, chat_id="talk", **op),
        talked,
        1,
    ),
    "post": Case(lambda hf, **op: hf.chat("talk").send(2, sender="ann", **op), talked, 2, a_chat),
    "join": Case(
        lambda hf, **op: hf.chat("talk").join("cem", **op), members, ["ann", "ben", "cem"], a_chat
    ),
    "leave": Case(lambda hf, **op: hf.chat("talk").leave("ben", **op), members, ["ann"], a_chat),
    "touch": Case(
        lambda hf, **op: hf.recent("ann").touch("jill", **op),
        lambda hf: hf.recent("ann").all(),
        ["jill"],
    ),
    "add a name": Case(
        lambda hf, **op: hf.completions("guild").add("jack", **op),
        lambda hf: hf.completions("guild").count(),
        2,
        a_name,
    ),
    "remove a name": Case(
        lambda hf, **op: hf.completions("guild").remove("jill", **op),
        lambda hf: hf.completions("guild").count(),
        0,
        a_name,
    ),
    "count": Case(
        lambda hf, **op: hf.counter("hits").add(3, **op),
        lambda hf: hf.counter("hits").total(3600),
        3,
    ),
}
"""Writes that take an `op_id`. Settings, and plans of rows, are the same when they are made twice;
before a row is planned its cache is defined, which is harmless, and waits by itself."""


@pytest.fixture
def namespace() -> str:
    """Nobody else's."""
    return secrets.token_hex(4)


@pytest.fixture
def hf(standalone: Server, namespace: str) -> Iterator[Holdfast]:
    """Of a client that waits for nobody."""
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


@pytest.mark.parametrize("kind", CASES)
def test_it_is_applied_once(standalone: Server, namespace: str, hf: Holdfast, kind: str) -> None:
    """Where there is no replica: repeated it is unknown again, and then repeated elsewhere."""
    case = CASES[kind]
    if case.before is not None:
        case.before(hf)
    alone = Replicated(1, timeout=0.01)
    with Holdfast.from_url(standalone.url, namespace=namespace, durability=alone) as durable:
        with pytest.raises(OutcomeUnknown, match="0 of 1 replicas") as unknown:
            case.write(durable)
        assert case.look(hf) == case.once
        with pytest.raises(OutcomeUnknown, match="0 of 1 replicas") as again:
            unknown.value.repeat()
    assert unknown.value.op_id == again.value.op_id
    case.write(hf, op_id=unknown.value.op_id)
    assert case.look(hf) == case.once
