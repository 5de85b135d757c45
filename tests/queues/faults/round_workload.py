"""The calls to a queue in a round of faults, and their audit: `RoundWorkload`."""

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from faults.history import Operation
from faults.stubborn import insist
from holdfast import (
    Call,
    OutcomeUnknown,
    QueueAtCapacity,
    ServerUnavailable,
    TaskFailed,
    TaskHandle,
    TaskStatus,
)
from holdfast.queues import keys
from queues.faults import chores
from queues.faults.worker_fleet import WorkerFleet

CAPACITY = 25  # of every second round
WAITERS = 4
ANSWERED_S = 60.0
SLACK_US = 20_000  # between the clock of a process and that of the server on the same machine


@dataclass
class EnqueuedTask:
    """What the producer knows of one task; instants in microseconds since 1970."""

    handle: TaskHandle[Any]
    asked_us: int
    stored_us: int
    delay_s: float = 0.0
    expires_s: float = 0.0
    cancels: list[tuple[bool, int]] = field(default_factory=list)


class RoundWorkload:
    """The calls to a queue while it has faults, and what is needed to check the end.

    Args:
        fleet: with the queue.
        seed: of every choice.
    """

    def __init__(self, fleet: WorkerFleet, seed: int) -> None:
        self._fleet = fleet
        self._choices = random.Random(seed)
        self._queue = fleet.hf.queue(chores.QUEUE, capacity=CAPACITY if seed % 2 else None)
        self._enqueued: dict[str, EnqueuedTask] = {}
        self._pauses: list[tuple[int, int]] = []
        self._results: dict[str, object] = {}
        self._waiting: list[threading.Thread] = []
        self._refused = 0
        self._number = 0

    @property
    def cancelled(self) -> set[str]:
        """Return the tasks that were cancelled before they had ended."""
        return {
            key
            for key, enqueued in self._enqueued.items()
            if any(yes for yes, _ in enqueued.cancels)
        }

    def act(self) -> None:
        """Make one more call: mostly for a task, sometimes for the whole queue."""
        self._number += 1
        choices = self._choices
        match choices.randrange(14):
            case 0 | 1 if self._enqueued:
                self._cancel(choices.choice(list(self._enqueued)))
            case 2:
                self._pause(choices.uniform(0.05, 0.25))
            case 3 | 4 if self._enqueued and len(self._waiting) < WAITERS:
                self._wait_for(choices.choice(list(self._enqueued)))
            case _:
                self._enqueue(self._task())

    def _task(self) -> Call[Any]:
        """Return a call of any kind; the first word of its key names the kind."""
        n, choices = self._number, self._choices
        a_bit, a_while = choices.uniform(0, 0.05), choices.uniform(0, 0.5)
        later, soon = choices.random(), choices.uniform(0.05, 1.0)
        calls: list[Call[Any]] = [
            chores.hopeless.call(f"hopeless-{n}"),
            chores.fails_at_first.call(f"fails-{n}", choices.randint(1, 2)),
            chores.endless.call(f"endless-{n}"),
            chores.endless_on_the_loop.call(f"endless-loop-{n}"),
            chores.plain.call(f"delayed-{n}").options(delay=later),
            chores.plain.call(f"high-{n}", a_while).options(priority="high"),
            chores.acks_at_once_in_a_thread.call(f"now-thread-{n}", a_bit),
            *2 * [chores.on_the_loop.call(f"expires-{n}", a_while).options(expires=soon)],
            *2 * [chores.acks_at_once.call(f"now-{n}", a_bit)],
            *2 * [chores.on_the_loop.call(f"loop-{n}", a_while)],
        ]
        return choices.choice(calls)

    def _enqueue(self, call: Call[Any]) -> None:
        many = self._choices.choice([0, 0, 0, 2, 8])
        asked_us = now_us()
        try:
            handles = self._fleet.enqueue(call, many=many)
        except QueueAtCapacity:
            self._refused += 1  # on record as surely not stored
            return
        stored_us = now_us()
        names = [f"{call.args[0]}.{n}" for n in range(many)] or [call.args[0]]
        delay_s, expires_s = float(call.wait[1:] or 0) / 1000, float(call.expires[1:] or 0) / 1000
        for name, handle in zip(names, handles, strict=True):
            self._enqueued[name] = EnqueuedTask(handle, asked_us, stored_us, delay_s, expires_s)

    def _cancel(self, key: str) -> None:
        enqueued = self._enqueued[key]
        cancelled = insist(enqueued.handle.cancel)
        enqueued.cancels.append((cancelled, now_us()))

    def _pause(self, seconds: float) -> None:
        insist(self._queue.pause)
        paused_us = now_us()
        time.sleep(seconds)
        self._pauses.append((paused_us, now_us()))
        insist(self._queue.resume)

    def _wait_for(self, key: str) -> None:
        if key not in self._results:
            self._results[key] = None
            thread = threading.Thread(target=self._await, args=[key], daemon=True)
            self._waiting.append(thread)
            thread.start()

    def _await(self, key: str) -> None:
        deadline_s = time.monotonic() + ANSWERED_S
        while time.monotonic() < deadline_s:
            try:
                self._results[key] = self._enqueued[key].handle.result(timeout=1.0)
            except (ServerUnavailable, OutcomeUnknown):
                time.sleep(0.05)
            except TimeoutError:
                continue
            except TaskFailed as error:
                self._results[key] = error
                return
            else:
                return

    def settled(self) -> Counter[str]:
        """Check all promises for the calls of this round, when all has ended.

        Returns:
            How many tasks ended in which state.

        Raises:
            AssertionError: a promise was broken; the message names it.
        """
        for thread in self._waiting:
            thread.join(ANSWERED_S)
            assert not thread.is_alive(), "a thread still waits for a result"
        runs: dict[str, list[Operation]] = defaultdict(list)
        for run in self._fleet.history():
            if run.kind == "complete":
                runs[run.key].append(run)
        ends: Counter[str] = Counter()
        for key, enqueued in self._enqueued.items():
            status = enqueued.handle.status()
            ends[status.state] += 1
            self._check_end(key, enqueued, status, runs[key])
            self._check_claims(key, enqueued, runs[key])
        self._check_results()
        ends["refused"] = self._refused
        return ends

    def _check_end(
        self, key: str, enqueued: EnqueuedTask, status: TaskStatus, runs: list[Operation]
    ) -> None:
        """Check that a task has ended once, and that no other trace of it is left."""
        raw, unit, task_id = self._fleet.raw, self._fleet.unit, enqueued.handle.task_id
        assert status.state in {"done", "dead", "cancelled"}, (key, status)
        kept = raw.exists(keys.result(unit, task_id))
        assert bool(kept) != bool(raw.hexists(keys.bodies(unit), task_id)), (key, status)
        answers = [answer for answer, _ in enqueued.cancels]
        assert answers.count(True) == (status.state == "cancelled"), (key, enqueued, status)
        if True in answers:
            assert answers[0], f"{key} had ended, and was cancelled after that: {enqueued}"
        if status.state == "done":
            token = enqueued.handle.result(timeout=0)
            counted = [run for run in runs if run.fields["token"] == token]
            assert [run.outcome for run in counted] == ["ok"], (key, token, runs)
            latest = max(run.fields["token"] for run in runs)
            assert token == latest, f"{key} was claimed again, but an older claim counted: {runs}"

    def _check_claims(self, key: str, enqueued: EnqueuedTask, runs: list[Operation]) -> None:
        """Check the times of all claims of a task; a token is the server's time of its claim."""
        for run in runs:
            claimed_us = run.fields["token"]
            earliest_us = enqueued.asked_us + enqueued.delay_s * 1e6 - SLACK_US
            assert claimed_us >= earliest_us, f"{key} ran before its time: {run}, {enqueued}"
            if enqueued.expires_s:
                latest_us = enqueued.stored_us + enqueued.expires_s * 1e6 + SLACK_US
                assert claimed_us <= latest_us, f"{key} ran after it expired: {run}, {enqueued}"
            for answer, at_us in enqueued.cancels:
                late = answer and claimed_us > at_us + SLACK_US
                assert not late, f"{key} was claimed after it was cancelled: {run}, {enqueued}"
            for from_us, until_us in self._pauses:
                paused = from_us + SLACK_US < claimed_us < until_us - SLACK_US
                assert not paused, f"{key} was claimed during a pause: {run}"

    def _check_results(self) -> None:
        """Check that the callers that waited got the result that a caller gets now."""
        for key, result in self._results.items():
            assert result is not None, f"no waiter got the result of {key}"
            now = _outcome(self._enqueued[key].handle.result)
            if isinstance(result, TaskFailed):
                assert isinstance(now, TaskFailed), (key, result, now)
                assert (result.state, result.reason) == (now.state, now.reason)
            else:
                assert result == now


def _outcome(result: Callable[..., object]) -> object:
    try:
        return result(timeout=0)
    except TaskFailed as error:
        return error


def now_us() -> int:
    """Return the time of this machine, which is also the server's, in microseconds."""
    return time.time_ns() // 1000
