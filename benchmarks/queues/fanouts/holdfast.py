"""Holdfast: a group with `then`."""

from __future__ import annotations

from holdfast import Holdfast, TaskRegistry

from .part import LEASE_S, THREADS, note, take_part

tasks = TaskRegistry()


@tasks.task(queue="bench", result_ttl=0)
def member(number: int) -> int:
    return number


@tasks.task(queue="bench")
def callback(group: str) -> None:
    note("then", group)


def work(url: str) -> None:
    """Run tasks until killed."""
    hf = Holdfast.from_url(url, namespace="bench")
    hf.worker(tasks, lease=LEASE_S, concurrency=THREADS).run()


def produce(url: str, group: str, members: int) -> None:
    """Enqueue one group."""
    with Holdfast.from_url(url, namespace="bench") as hf:
        hf.enqueue_group([member.call(n) for n in range(members)], then=callback.call(group))


if __name__ == "__main__":
    take_part(work, produce)
