"""Something to look at: tasks in every state, under names that try to be HTML."""

from __future__ import annotations

import threading
from typing import Final

from holdfast import Every, Holdfast, Retry, TaskRegistry
from holdfast.web.dashboard.screens import SCREENS
from web.dashboard import sample_blocks
from web.dashboard.sample_blocks import HOSTILE
from web.running import PATIENCE_S

PAGES: Final = [page.path for screen in SCREENS for page in screen.pages]
CSV_PAGES: Final = [page.path for screen in SCREENS for page in screen.pages if page.csv_table]
ACTIONS: Final = [action.path for screen in SCREENS for action in screen.actions]

SCHEDULE: Final = HOSTILE.replace(" ", "")
GROUP: Final = "a-group"

QUERIES: Final[dict[str, list[dict[str, str]]]] = {
    "": [{}],
    "queues": [{}, {"q": HOSTILE}, {"order": "waiting"}, {"order": "dead"}, {"order": "name"}],
    "queue": [{"name": HOSTILE}, {"name": "nowhere"}],
    "tasks": [
        *({"queue": HOSTILE, "state": state} for state in ("queued", "delayed", "running", "dead")),
        {"queue": HOSTILE, "state": "dead", "q": HOSTILE, "task": HOSTILE, "reason": HOSTILE},
        {},
    ],
    "task": [
        {"queue": HOSTILE, "id": "dead"},
        {"queue": HOSTILE, "id": "waits"},
        {"queue": HOSTILE, "id": "later"},
        {"queue": HOSTILE, "id": "done"},
        {"queue": HOSTILE, "id": "cancelled"},
        {"queue": HOSTILE, "id": HOSTILE.replace(" ", "")},
    ],
    "history": [
        {"queue": HOSTILE},
        {"queue": HOSTILE, "outcome": "dead", "q": HOSTILE[:5], "task": HOSTILE, "before": "9"},
        {"queue": "nowhere"},
        {},
    ],
    "groups": [{}, {"q": "a"}],
    "group": [{"name": GROUP}, {"name": "nowhere"}],
    "schedules": [{}, {"q": HOSTILE}],
    "schedule": [{"name": SCHEDULE}, {"name": "nowhere"}],
    "failures": [{}, {"queue": HOSTILE}],
    "workers": [{}, {"q": HOSTILE}],
    "server": [{}],
    **sample_blocks.QUERIES,
}
"""What each page is asked for; a new page belongs here."""

REQUESTS: Final = [(path, query) for path, queries in QUERIES.items() for query in queries]

tasks = TaskRegistry()


@tasks.task(queue=HOSTILE, name=HOSTILE, retry=Retry(attempts=1))
def hostile(what: str, **more: str) -> None:
    """Fail if *what* is `fail`."""
    if what == "fail":
        raise ValueError(HOSTILE)


def fill(hf: Holdfast) -> None:
    """Put tasks in every state into one queue, and something into each other block."""
    sample_blocks.fill_blocks(hf)
    hf.schedule(SCHEDULE, hostile.call("well"), Every(21_600), overlap="skip")
    calls = [hostile.call("well"), hostile.call("fail", text=HOSTILE)]
    hf.enqueue_group(calls, on_failure=hostile.call("well"), group_id=GROUP)
    hf.enqueue(hostile.call("fail", text=HOSTILE).options(task_id="dead"))
    hf.enqueue(hostile.call("well").options(task_id="done"))
    work(hf, tasks)
    hf.enqueue(
        hostile.call(HOSTILE).options(task_id="waits", priority="high", headers={HOSTILE: HOSTILE})
    )
    hf.enqueue(hostile.call(HOSTILE).options(task_id="later", delay=3600.0))
    hf.enqueue(hostile.call(HOSTILE).options(task_id="cancelled", delay=3600.0)).cancel()


def work(hf: Holdfast, registry: TaskRegistry) -> None:
    """Run what waits, in a thread: that of the test may have a loop, of a browser."""
    thread = threading.Thread(target=hf.worker(registry).run, kwargs={"until_idle": True})
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
