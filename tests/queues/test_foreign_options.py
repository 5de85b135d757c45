"""Headers, timeouts and retries that a program in another language puts into an envelope."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conftest import Site
from holdfast import Holdfast, TaskStatus
from queues.outcome_tasks import ran, tasks


def put(site: Site, task: str, *args: Any, **options: Any) -> TaskStatus:
    """Enqueue a task with plain commands, let a worker run it, and return its status."""
    ran.clear()
    envelope = {"v": 1, "id": "sold-17", "queue": "ends", "task": task, "args": args, **options}
    prefix = f"{site.namespace}:{{queue:ends}}:"
    site.client.hset(prefix + "bodies", "sold-17", json.dumps(envelope))
    site.client.rpush(prefix + "ready:m", "sold-17")
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        hf.worker(tasks).run(until_idle=True)
        return hf.queue("ends").handle("sold-17").status()


def test_headers_arrive(site: Site) -> None:
    headers = {"tenant": "acme", **{str(n): "x" * 100 for n in range(100)}}
    assert put(site, "describes_itself", headers=headers).state == "done"
    assert [task.headers for task in ran] == [headers]


def test_a_retry_replaces_that_of_the_task(site: Site) -> None:
    status = put(site, "fails", "off", retry={"attempts": 2})
    assert (status.state, status.attempts) == ("dead", 2)


def test_a_retry_keeps_the_exceptions_of_the_task(site: Site) -> None:
    status = put(site, "fails", "value", retry={"attempts": 2, "delays_ms": [0], "later": 1})
    assert (status.state, status.attempts) == ("dead", 1)


def test_a_limit_of_snoozes_replaces_that_of_the_task(site: Site) -> None:
    status = put(site, "snoozes", 9, 0, retry={"snoozes": 2})
    assert status.reason == "snoozed: the limit of 2 is reached: not yet"


def test_a_timeout_replaces_that_of_the_task(site: Site) -> None:
    status = put(site, "fails", "slow", timeout_ms=50)
    assert status.reason == "failed: TimeoutError: it took longer than its timeout, 0.05 s"


@pytest.mark.parametrize(
    "options",
    [
        {"headers": {"a": 1}},
        {"headers": ["a"]},
        {"timeout_ms": -1},
        {"timeout_ms": "5"},
        {"timeout_ms": 2**60},
        {"retry": 3},
        {"retry": {"attempts": 0}},
        {"retry": {"attempts": 1.5}},
        {"retry": {"backoff_ms": -1}},
        {"retry": {"delays_ms": [0] * 101}},
        {"retry": {"snoozes": -1}},
    ],
    ids=repr,
)
def test_what_does_not_fit_is_dead_with_a_reason(site: Site, options: dict[str, Any]) -> None:
    status = put(site, "describes_itself", **options)
    [name] = options
    assert status.state == "dead"
    assert status.reason.startswith("undecodable: ")
    assert name in status.reason
    assert ran == []


def test_null_is_what_the_task_says(site: Site) -> None:
    assert put(site, "describes_itself", retry=None).state == "done"
