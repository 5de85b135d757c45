"""The progress of tasks on the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.servers import Server
from holdfast import TaskHandle
from holdfast.testing.background_worker import BackgroundWorker
from queues.event_tasks import go_on, half, tasks
from web.running import RunningApp, opened


@pytest.fixture
def live(standalone: Server, tmp_path: Path) -> Iterator[RunningApp]:
    go_on.clear()
    with opened(standalone.url, tmp_path.name) as live:
        yield live


@pytest.fixture
def running(live: RunningApp) -> Iterator[TaskHandle[None]]:
    """Run a task that has reported that half of it is done."""
    handle = live.hf.enqueue(half.call("<b>chapter 2</b>"))
    with BackgroundWorker(live.hf.worker(tasks)):
        next(iter(handle.events(timeout=60)))
        yield handle
        go_on.set()


def test_a_running_task_has_a_bar(live: RunningApp, running: TaskHandle[None]) -> None:
    viewer = live.visitor("viewer")
    for path, query in (
        ("/tasks", {"queue": "events", "state": "running"}),
        ("/task", {"queue": "events", "id": running.task_id}),
    ):
        html = viewer.get(path, params=query).text
        assert '<progress max="1" value="0.5"' in html
        assert "50 %" in html
        assert "<bdi>&lt;b&gt;chapter 2&lt;/b&gt;</bdi>" in html
