"""Holdfast: each worker fires the schedules."""

from __future__ import annotations

from holdfast import Every, Holdfast, Schedule, TaskRegistry

from .part import INTERVAL_S, NAMES, ran, take_part

tasks = TaskRegistry()


def _task(name: str) -> None:
    @tasks.task(name=name, schedule=Schedule(Every(INTERVAL_S, phase=0.0)))
    async def run() -> None:
        ran(name)


for _name in NAMES:
    _task(_name)


def work(url: str) -> None:
    """Run tasks until killed."""
    Holdfast.from_url(url, namespace="bench").worker(tasks).run()


if __name__ == "__main__":
    take_part({"work": work})
