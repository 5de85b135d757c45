"""A primary that was stopped, replaced, and goes on as if nothing had been: what it acknowledges
then is lost. `Replicated(1)` acknowledges nothing of it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from faults.sentinels import Watched
from faults.waiting import eventually
from holdfast import (
    Holdfast,
    OutcomeUnknown,
    Replicated,
    ServerUnavailable,
    TaskRegistry,
)

tasks = TaskRegistry()
DURABILITIES = [None, Replicated(1, timeout=0.3)]


@tasks.task(queue="zombie")
def nothing(n: int) -> None:
    del n


class History:
    def __init__(self) -> None:
        self.acknowledged: set[str] = set()
        self.unknown: list[tuple[str, OutcomeUnknown]] = []

    def note(self, name: str, write: Callable[[], Any]) -> None:
        try:
            write()
        except OutcomeUnknown as error:
            self.unknown.append((name, error))
        except ServerUnavailable:
            pass
        else:
            self.acknowledged.add(name)


def write(hf: Holdfast, history: History, turns: list[str]) -> None:
    """Write data that must not be lost. Locks come last: their retries find the new primary."""
    for turn in turns:
        call = nothing.call(1).options(task_id=f"task-{turn}")
        history.note(f"task-{turn}", lambda call=call: hf.enqueue(call))
        body = f"message-{turn}"
        history.note(body, lambda body=body: hf.mailbox("jack").send(body, sender="jill"))
        fenced = hf.fenced(f"fenced-{turn}")
        history.note(f"fenced-{turn}", lambda fenced=fenced: fenced.set("v", 1))
    for turn in turns[:2]:
        lock = hf.lock(f"lock-{turn}", lease=3600, auto_renew=False)
        history.note(f"lock-{turn}", lock.acquire)


def found(hf: Holdfast, turns: list[str]) -> set[str]:
    there = {task.task_id for task in hf.queue("zombie").tasks()}
    there |= {message.body for message in hf.mailbox("jack").latest(100)}  # type: ignore[union-attr]
    there |= {f"lock-{turn}" for turn in turns if hf.lock(f"lock-{turn}").inspect().holder}
    return there | {f"fenced-{turn}" for turn in turns if hf.fenced(f"fenced-{turn}").get()}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*was never released:ResourceWarning")
@pytest.mark.parametrize("durability", DURABILITIES, ids=["plain", "replicated"])
def test_what_a_zombie_acknowledges(watched: Watched, durability: Replicated | None) -> None:
    history, turns = History(), [f"{when}-{n}" for when in ("before", "during") for n in range(5)]
    url = f"{watched.url}?socket_timeout=1"
    with Holdfast.from_url(url, namespace="z", durability=durability) as hf:
        write(hf, history, turns[:5])
        assert len(history.acknowledged) == 17
        with watched.zombie():
            write(hf, history, turns[5:])
        # With a new client, which looks up the primary: the old one still reads from the zombie.
        with Holdfast.from_url(url, namespace="z") as other:
            there = found(other, turns)
        lost = history.acknowledged - there
        assert {name for name in history.acknowledged if "before" in name} <= there
        if durability is None:
            assert lost, "nothing was lost: this test has no teeth"
            return
        assert not lost
        assert history.unknown
        for _, error in history.unknown:
            eventually(partial(is_repeated, error))
        with Holdfast.from_url(url, namespace="z") as other:
            there = found(other, turns)
            bodies = [message.body for message in other.mailbox("jack").latest(100)]  # type: ignore[union-attr]
        assert {name for name, _ in history.unknown} <= there
        assert len(bodies) == len(set(bodies))


def is_repeated(error: OutcomeUnknown) -> bool:
    """Return whether the repeat succeeds; it fails while the new primary has no replica."""
    try:
        error.repeat()
    except (OutcomeUnknown, ServerUnavailable):
        return False
    return True
