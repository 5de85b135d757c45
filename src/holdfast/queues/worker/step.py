"""The arguments and the reply of `step.lua`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from ...core.concurrency._async.primitives import Event
from ...core.names import Unit
from ...core.script import Script
from .. import keys
from ..ended_task import NO_FACTS
from .claim import MAX_CRASHES, Claim
from .idle_pace import UNDIVIDED, IdlePace

STEP: Final = Script.load("holdfast.queues", "step")

STEP_LIMIT: Final = 32
"""Maximum number of settlements, and of claims, in one step, so that it does not block the server.

If a worker is killed, at most so many finished tasks run again.
"""

Verb = Literal["done", "retry", "snooze", "suspend", "dead", "give_up", "crash", "release", "park"]


@dataclass(slots=True)
class Settlement:
    """How a claimed task ended, for the next step to store.

    Attributes:
        claim: the claim that ended.
        verb: `done`, `retry`, `snooze` (as the task asked, no attempt is counted),
            `suspend` (it sleeps or waits for a signal, no attempt is counted), `dead`, `give_up`
            (dead, as the task asked), `crash` (its child process died: a crash is
            counted, as if the worker had vanished), `release` (back to the front, no attempt is
            counted) or `park` (until a worker comes that knows the task, no attempt is counted).
        ms: milliseconds to keep the result (done), to wait (retry, snooze), after which a parked
            task is dead (park), or to pause the limit key (see `pauses_key`).
        text: the result as it is stored (done), or the reason.
        urgent: whether the server must store it at once, in a step of its own.
        pauses_key: whether *ms* is also for how long the limit key of the task pauses (retry,
            dead).
        has_events: whether the task may have events; then they are kept as long as the result.
        seconds: how long the task ran; None: not known.
        facts: the duration and the name of the task, for the history; see `ended_task.facts`.
    """

    claim: Claim
    verb: Verb
    ms: int = 0
    text: str | bytes = ""
    urgent: bool = False
    facts: str = NO_FACTS
    pauses_key: bool = False
    has_events: bool = False
    seconds: float | None = None

    @property
    def sent_verb(self) -> str:
        """Return the verb as the script reads it."""
        if self.pauses_key:
            return f"{self.verb}_key"
        return "done_events" if self.has_events and self.verb == "done" else self.verb


@dataclass(frozen=True, slots=True)
class Step:
    """One call of `step.lua`.

    Attributes:
        writer: the id under which the ledger remembers the steps of the worker.
        number: number of the step, counted by its writer.
        channel: where the worker is notified; empty if the step only settles.
        want: tasks to claim at most.
        poison_limit: poison tasks among them at most.
        pace: how often the worker makes a step if it is idle.
        settlements: the settlements that this step stores.
    """

    writer: str
    number: int
    channel: str = ""
    want: int = 0
    poison_limit: int = 0
    pace: IdlePace = UNDIVIDED
    settlements: Sequence[Settlement] = ()

    def arguments(self, worker: str, lease_ms: int) -> list[str | bytes | int]:
        """Return ARGV of the script."""
        args: list[str | bytes | int] = [self.writer, self.number, self.channel, worker]
        args += [self.want, self.poison_limit, lease_ms, MAX_CRASHES, self.pace.listed_ms]
        for each in self.settlements:
            args += [each.claim.key, each.claim.token, each.sent_verb]
            args += [each.ms, each.text, each.facts]
        return args

    def result_keys(self, unit: Unit) -> list[bytes]:
        """Return the keys for the results of the tasks that are done, and those of their events."""
        done = [each for each in self.settlements if each.verb == "done"]
        prefix = keys.result(unit, "").encode() if done else b""
        found = []
        for each in done:
            found.append(prefix + each.claim.key)
            if each.has_events:
                found.append(keys.events(unit, "").encode() + each.claim.key)
        return found


@dataclass(frozen=True, slots=True)
class StepReply:
    """What `step.lua` returns.

    Attributes:
        asked_at: when the worker sent the call, in seconds of `since_boot`.
        wait_ms: milliseconds until a task is due or a lease ends; 0: make the next step at once;
            -1: neither is known.
        left: number of tasks that are queued, delayed or running (see `lua/parts/agenda.lua`); -1
            if they were not counted.
        accepted: a digit for each settlement: `1` if the worker still held the task.
        missing: number of stored tasks that are in no list or set of the queue, and will not run;
            -n: n ids in the lists and sets have no task.
        claims: tasks that the worker holds from now on.
        ended: id and token of each claim of this worker with an ended lease, one after the other.
        any_events: whether a task of the queue has events, or readers that wait for events.
        server_ms: the time of the server.
        was_idle: whether the worker was in the list of idle workers before this step. If not,
            another script may have taken it from the list to notify it. False in the reply to a
            repeated step.
    """

    asked_at: float
    wait_ms: int
    left: int
    accepted: str
    missing: int
    claims: list[Claim]
    ended: Sequence[bytes]
    any_events: bool
    server_ms: int
    was_idle: bool

    @property
    def is_full(self) -> bool:
        """Return whether the step claimed all it may: it does not list the worker as idle then.

        The reply to a repeated step does not contain this.
        """
        return self.left == -1 and self.wait_ms == 0

    @classmethod
    def parsed(cls, asked_at: float, reply: Sequence[Any], has_member_ends: Event) -> StepReply:
        """Return the *reply* of the script. Set the event if members of groups have ended."""
        wait_ms, left, accepted, missing, claims, ended, *facts = reply
        any_events, member_ends, server_ms, was_idle, stepped = facts
        if member_ends:
            has_member_ends.set()
        return cls(
            asked_at=asked_at,
            wait_ms=wait_ms,
            left=left,
            accepted=accepted.decode(),
            missing=missing,
            claims=list(Claim.parsed(claims, stepped)),
            ended=ended,
            any_events=any_events == 1,
            server_ms=server_ms,
            was_idle=was_idle == 1,
        )
