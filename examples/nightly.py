"""A nightly import in 10,000 parts: all are loaded, then one task writes the report.

    python examples/nightly.py [URL]

Some parts are broken at first. They are repaired and replayed, and then the report comes, once.
Without a URL it starts a server of its own (extra `server`).
"""

from __future__ import annotations

import sys

from holdfast import GROUP_ID, RESULT, GiveUp, Holdfast, TaskRegistry, chain

tasks = TaskRegistry()

PARTS = 10_000

ROWS = 20
"""Rows of one part."""

broken: set[int] = {3, 7}
"""Parts that cannot be read at first."""

rows: dict[int, int] = {}
"""The database: part → how many rows it has stored. A repeated part stores them again."""

published: list[str] = []
alarms: list[str] = []

hf: Holdfast


@tasks.task(queue="import", result_ttl=0)
async def load(part: int) -> int:
    """Load one part, and return how many rows it has."""
    if part in broken:
        raise GiveUp(f"part {part} is not a valid file")
    rows[part] = ROWS
    return ROWS


@tasks.task(queue="reports")
def report(night: str) -> str:
    """Add up what the parts have returned; the results are read in pages."""
    handle = hf.group_handle(night)
    loaded = sum(part.value or 0 for part in handle.results())
    return f"{night}: {loaded:,} rows in {handle.status().total:,} parts"


@tasks.task(queue="reports")
def publish(text: str) -> None:
    published.append(text)


@tasks.task(queue="reports")
def alarm(night: str) -> None:
    failed = next(part for part in hf.group_handle(night).results() if part.state == "dead")
    alarms.append(f"{night}: {failed.reason}")


def start(night: str, parts: int) -> None:
    """Enqueue the parts. To repeat it, after a crash for example, enqueues only what is missing."""
    hf.enqueue_group(
        [load.call(part) for part in range(parts)],
        then=chain(report.call(GROUP_ID), publish.call(RESULT)),
        on_failure=alarm.call(GROUP_ID),
        group_id=night,
    )


def main() -> None:
    """Import, repair what is broken, and print the report."""
    global hf  # noqa: PLW0603 (the tasks use it, too)
    hf = Holdfast.from_url(sys.argv[1]) if sys.argv[1:] else Holdfast.embedded()
    with hf:
        night = "nightly:2026-11-26"
        start(night, PARTS)
        worker = hf.worker(tasks, concurrency=100)
        worker.run(until_idle=True)
        print("alarm:", *alarms)
        print("state:", hf.group_handle(night).status().state)
        broken.clear()
        hf.queue("import").replay()
        worker.run(until_idle=True)
        print("state:", hf.group_handle(night).status().state)
        print("published:", *published)


if __name__ == "__main__":
    main()
