"""Queues that another program damaged: `run(until_idle=True)` ends all the same."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from conftest import Site
from holdfast import DecodeError, Holdfast, Retry, TaskRegistry

tasks = TaskRegistry()
BOUND_S: Final = 25.0
QUEUE: Final = "damaged"


@tasks.task(queue=QUEUE, retry=Retry(attempts=1))
def work(name: str) -> None:
    if name == "fails":
        raise ValueError(name)


@tasks.task(queue="sound")
def count() -> None:
    pass


@contextmanager
def prepared(site: Site) -> Iterator[tuple[Holdfast, Callable[[str], str]]]:
    """Yield a client and the names of its keys, for a queue with a task in each place."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        hf.enqueue(work.call("fails").options(task_id="dead"))
        hf.worker(tasks).run(until_idle=True)
        for n, priority in enumerate(("high", "medium", "low")):
            hf.enqueue(work.call("runs").options(task_id=f"t{n}", priority=priority))
        hf.enqueue(work.call("runs").options(task_id="later", delay=0.5))
        hf.enqueue(count.call())
        yield hf, lambda part: f"{site.namespace}:{{queue:{QUEUE}}}:{part}"


def ended(hf: Holdfast) -> None:
    """Run until idle, and fail if that takes too long."""
    worker, late = hf.worker(tasks), threading.Event()

    def give_up() -> None:
        late.set()
        worker.stop(grace=0)

    timer = threading.Timer(BOUND_S, give_up)
    timer.start()
    try:
        worker.run(until_idle=True)
    finally:
        timer.cancel()
        assert not late.is_set()


Damage = Callable[[Any, Callable[[str], str]], object]
GARBAGE: Final = b"\xff\xfe"

ENDS: Final[dict[str, tuple[Damage, str]]] = {
    "a line is gone": (lambda c, k: c.delete(k("ready:m")), "1 task is not queued"),
    "all lines are gone": (
        lambda c, k: c.delete(k("ready:h"), k("ready:m"), k("ready:l"), k("due:m")),
        "4 tasks are not queued",
    ),
    "an id is gone": (lambda c, k: c.lpop(k("ready:h")), "1 task is not queued"),
    "ids are in a list twice": (lambda c, k: c.rpush(k("ready:m"), "t0", "t0", "t1"), ""),
    "ids have no task": (lambda c, k: c.rpush(k("ready:m"), "", GARBAGE, "x" * 9999), ""),
    "a body is gone": (lambda c, k: c.hdel(k("bodies"), "t0"), ""),
    "the body of a delayed task is gone": (lambda c, k: c.hdel(k("bodies"), "later"), ""),
    "the body of a dead task is gone": (lambda c, k: c.hdel(k("bodies"), "dead"), "has no task"),
    "all bodies are gone": (lambda c, k: c.delete(k("bodies")), ""),
    "a body is garbage": (lambda c, k: c.hset(k("bodies"), "t0", GARBAGE), ""),
    "a body is empty": (lambda c, k: c.hset(k("bodies"), "t0", b""), ""),
    "the layout is garbage": (lambda c, k: c.hset(k("settings"), "layout", b"x"), ""),
    "a body is of no task": (lambda c, k: c.hset(k("bodies"), GARBAGE, b"{}"), "1 task is not"),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_run_until_idle_ends(site: Site, caplog: pytest.LogCaptureFixture, name: str) -> None:
    """It reports what is wrong once, if anything is left of it."""
    damage, message = ENDS[name]
    with prepared(site) as (hf, key), caplog.at_level(logging.ERROR, "holdfast.worker"):
        damage(site.client, key)
        ended(hf)
        assert site.client.llen(key("ready:m")) == 0
        assert hf.queue("sound").stats().ready == 0
    damages = [record.getMessage() for record in caplog.records if "is damaged" in record.msg]
    assert not message or len(damages) == 1
    assert message in "".join(damages)


PARTS: Final = {
    **dict.fromkeys(("bodies", "state", "settings", "throughput", "awaited"), "hash"),
    **dict.fromkeys(("leases", "due:h", "due:m", "due:l", "dead", "expiring", "idle"), "zset"),
    **dict.fromkeys(("ready:h", "ready:m", "ready:l"), "list"),
    "tombstones": "set",
}


@pytest.mark.parametrize("part", PARTS)
def test_a_key_of_another_type_ends_a_run_until_idle(site: Site, part: str) -> None:
    """The error names the key, no id is lost from a line, and the other queue is served."""
    with prepared(site) as (hf, key):
        lines = [each for each in ("ready:h", "ready:m", "ready:l") if each != part]
        before = [site.client.lrange(key(line), 0, -1) for line in lines]
        site.client.delete(key(part))
        site.client.set(key(part), b"x")
        with pytest.raises(DecodeError, match=part):
            ended(hf)
        assert [site.client.lrange(key(line), 0, -1) for line in lines] == before
        assert hf.queue("sound").stats().ready == 0
