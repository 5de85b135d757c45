"""Workers are killed at every line between and inside of steps."""

import random
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from faults.servers import Server
from holdfast import Holdfast, TaskHandle
from queues.faults.stepping_worker import EFFECTS, LEASE_S, Effects, registry

TESTS = Path(__file__).parents[2]

MOST = 3000
"""Lines that a run of the task has at most, with those of the runner and of the steps."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("every", [250, pytest.param(1, marks=pytest.mark.long)])
def test_no_step_is_lost_or_repeated(
    standalone: Server, seed: int, every: int, plain: bool
) -> None:
    """A step that was stored does not run again; each step runs once, or is the one of the kill."""
    namespace, first = f"n-{secrets.token_hex(4)}", 1 + random.Random(seed).randrange(every)
    effects = Effects(standalone.url, f"{namespace}:")
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        handles: dict[str, TaskHandle[Any]] = {}
        for n in range(MOST // every + 1):
            task = registry(str(n), effects).get("plain_order" if plain else "order")
            handles[str(n)] = hf.enqueue(task.call())
            handles[str(n)].signal("go", n)
        killed = killed_workers(standalone, namespace, first, every)
        assert 2 <= killed <= MOST // every
        stored = {queue: stored_effects(handles[queue]) for queue in map(str, range(killed))}
        before = {queue: effects.of(handles[queue].task_id) for queue in stored}
        time.sleep(LEASE_S)
        for queue, names in stored.items():
            hf.worker(registry(queue, effects)).run(until_idle=True)
            handle = handles[queue]
            result = ["reserve", "charge", int(queue), "ship"]
            assert handle.result(timeout=0) == result, queue
            done = effects.of(handle.task_id)
            after = done[len(before[queue]) :]
            assert after == list(EFFECTS[len(names) :]), (queue, names, done)
            assert len(before[queue]) - len(names) in (0, 1), (queue, names, done)
            assert len(handle.steps()) == 0


def killed_workers(server: Server, namespace: str, first: int, every: int) -> int:
    """Return how many workers were killed, each at another line."""
    command = [sys.executable, "-m", "queues.faults.stepping_worker"]
    done = subprocess.run(
        [*command, server.url, namespace, str(first), str(every)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=100 if every > 1 else 3000,
        check=True,
    )
    return int(done.stdout)


def stored_effects(handle: TaskHandle[Any]) -> list[str]:
    """Return the steps that are stored as ended; all of them if the task is done."""
    if handle.status().state == "done":
        return list(EFFECTS)
    return [step.name for step in handle.steps() if step.kind == "step"]
