"""Garbage in a queue: it ends among the dead with a reason, and nothing else happens."""

import json
import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from conftest import Site
from holdfast import Holdfast, Retry, TaskRegistry

tasks = TaskRegistry()
ran: list[object] = []


@tasks.task(queue="work")
def note(value: int) -> None:
    ran.append(value)


@tasks.task(queue="work")
def dated(
    day: datetime | None = None,
    span: timedelta | None = None,
    price: Decimal | None = None,
    ratio: float = 0.0,
    raw: bytes = b"",
) -> None:
    ran.append("dated")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


RAISED: dict[str, Callable[[], Exception]] = {
    "half a surrogate pair": lambda: ValueError("\udcff"),
    "an error that cannot be printed": Unspeakable,
    "NUL": lambda: ValueError("a\x00b\r\nc"),
}


@tasks.task(queue="work", retry=Retry(attempts=1))
def raises(what: str) -> None:
    ran.append(what)
    error = RAISED[what]()
    raise error


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        hf.enqueue(note.call(0))
        drain(hf)
        hf.queue("work").dead()  # what is imported late is imported now
        ran.clear()
        yield hf


def drain(hf: Holdfast) -> None:
    hf.worker(tasks, grace=0.1, unknown_timeout=0).run(until_idle=True)


def put(site: Site, task_id: bytes, body: bytes) -> None:
    """Append *body* to the ready list, as any raw client may."""
    prefix = f"{site.namespace}:{{queue:work}}:"
    site.client.hset(prefix + "bodies", task_id, body)
    site.client.rpush(prefix + "ready:m", task_id)


def envelope(**fields: Any) -> bytes:
    """Return an envelope of `note` with some fields replaced; fields that are None are omitted."""
    sound = {"v": 1, "id": "bad", "queue": "work", "task": "note", "args": [1]}
    whole = {name: value for name, value in (sound | fields).items() if value is not None}
    return json.dumps(whole).encode()


class Bomb:
    """Imports `antigravity` when unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return __import__, ("antigravity",)


HUGE = b"9" * 10_000

UNKNOWN_FIELD_TOO_DEEP = "undecodable" if sys.version_info < (3, 14) else "bad-arguments"
"""From Python 3.14 on only the size of the stack limits the depth, so that such a field is skipped,
and the arguments are missing."""

GARBAGE = {
    "empty": (b"", "undecodable"),
    "no JSON": (b"\x00\xff\xfe junk", "undecodable"),
    "pickle": (pickle.dumps(Bomb()), "undecodable"),
    "not an object": (b"[1, 2, 3]", "undecodable"),
    "truncated": (envelope()[:-3], "undecodable"),
    "nested deep": (
        envelope(args=None)[:-1] + b', "args": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "undecodable",
    ),
    "objects nested deep": (
        envelope(args=None)[:-1] + b', "x": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        UNKNOWN_FIELD_TOO_DEEP,
    ),
    "2 MiB": (envelope(args=["x" * 2**21]), "undecodable"),
    "another id": (envelope(id="good-1"), "undecodable"),
    "a later version": (envelope(v=2), "unknown-version"),
    "huge version": (envelope(v=None)[:-1] + b', "v": ' + HUGE + b"}", "undecodable"),
    "version of another type": (envelope(v="1"), "undecodable"),
    "no version": (envelope(v=None), "undecodable"),
    "an id of another type": (envelope(id=5), "undecodable"),
    "a queue of another type": (envelope(queue=[]), "undecodable"),
    "no task": (envelope(task=None), "undecodable"),
    "a task that is a module's": (envelope(task="os.system", args=["true"]), "unknown-task"),
    "a dunder": (envelope(task="__class__"), "unknown-task"),
    "args of another type": (envelope(args={"value": 1}), "undecodable"),
    "kwargs of another type": (envelope(kwargs=[1]), "undecodable"),
    "a wrong argument": (envelope(args=["one"]), "bad-arguments"),
    "a huge argument": (
        envelope(args=None)[:-1] + b', "args": [' + HUGE + b"]}",
        "undecodable",
    ),
    "too few arguments": (envelope(args=[]), "bad-arguments"),
    "too many arguments": (envelope(args=[1, 2]), "bad-arguments"),
    "an argument twice": (envelope(kwargs={"value": 1}), "bad-arguments"),
    "an unheard-of argument": (envelope(kwargs={"self": 1}), "bad-arguments"),
    "a date out of range": (
        envelope(task="dated", args=["99999-01-01T00:00:00Z"]),
        "bad-arguments",
    ),
    "a span out of range": (
        envelope(task="dated", args=[], kwargs={"span": "P" + "9" * 30 + "D"}),
        "bad-arguments",
    ),
    "a decimal out of range": (
        envelope(task="dated", args=[], kwargs={"price": "1e" + "9" * 30}),
        "bad-arguments",
    ),
    "a float out of range": (
        envelope(task="dated", args=[], kwargs={"ratio": 10**400}),
        "bad-arguments",
    ),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_ends_dead_with_a_reason(hf: Holdfast, site: Site, kind: str) -> None:
    """The worker lives, others run, and nothing is imported."""
    body, reason = GARBAGE[kind]
    modules = set(sys.modules)
    hf.enqueue(note.call(1))
    put(site, b"bad", body)
    hf.enqueue(note.call(2))
    drain(hf)
    assert sorted(ran) == [1, 2]
    [dead] = hf.queue("work").dead()
    assert dead.task_id == "bad"
    assert dead.reason.startswith(reason + ": ")
    assert len(dead.reason) <= 500
    assert set(sys.modules) == modules


@pytest.mark.parametrize(
    "task_id", [b"\xff\xfe", b"", b"a b\r\n\x00c", b"\xed\xa0\x80", b"x" * 10_000]
)
def test_an_id_may_be_any_bytes(hf: Holdfast, site: Site, task_id: bytes) -> None:
    put(site, task_id, envelope())
    hf.enqueue(note.call(1))
    drain(hf)
    assert ran == [1]
    [dead] = hf.queue("work").dead()
    assert dead.task_id == task_id.decode(errors="backslashreplace")
    assert dead.reason.startswith("undecodable: ")
    assert hf.queue("work").replay() == 1


def test_an_id_without_an_envelope_is_passed_over(hf: Holdfast, site: Site) -> None:
    site.client.rpush(f"{site.namespace}:{{queue:work}}:ready:m", "ghost")
    hf.enqueue(note.call(1))
    drain(hf)
    assert ran == [1]


def test_an_id_that_is_queued_twice_is_settled_once(hf: Holdfast, site: Site) -> None:
    put(site, b"bad", envelope())
    site.client.rpush(f"{site.namespace}:{{queue:work}}:ready:m", "bad")
    drain(hf)
    assert set(ran) == {1}
    assert hf.queue("work").stats().running == 0


@pytest.mark.parametrize("what", RAISED)
def test_any_error_of_a_task_makes_a_reason(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(logging.getLogger("holdfast.worker"), "disabled", True)
    hf.enqueue(raises.call(what))
    hf.enqueue(note.call(1))
    drain(hf)
    assert ran.count(what) == 1
    assert 1 in ran
    [dead] = hf.queue("work").dead()
    assert dead.reason.startswith("failed: ")
