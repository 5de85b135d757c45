"""The tasks of the demo of reports: each renders one report, page by page."""

from __future__ import annotations

import random
import time
from typing import Final

from holdfast import TaskRegistry, current_task

QUEUE: Final = "reports"
PAGE_S: Final = 0.15

tasks = TaskRegistry()


@tasks.task(queue=QUEUE, result_ttl=3600.0)
def render(title: str, pages: int) -> str:
    """Render a report, and report each page."""
    task, dice = current_task(), random.Random(title)
    for page in range(1, pages + 1):
        time.sleep(dice.uniform(0, 2 * PAGE_S))
        task.progress(page, pages, f"page {page}")
        task.emit({"page": page, "words": dice.randrange(200, 600)})
    return f"{title}.pdf"
