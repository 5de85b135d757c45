"""The messages between a worker and its child processes for CPU-bound tasks."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .claim import Claim
from .registry_address import RegistryAddress
from .step import Settlement, Verb


class Setup(msgspec.Struct):
    """The first frame that the worker sends to a child process.

    Attributes:
        address: the variable that holds the registry.
        namespace: namespace of the queues.
        levels: level of each logger with a level of its own; the root logger has an empty name.
    """

    address: RegistryAddress
    namespace: str
    levels: dict[str, int]


class Job(msgspec.Struct):
    """A task to run. The body of the frame is the envelope.

    Attributes:
        queue: name of the queue.
        key: id of the task, with one character for each byte, because it need not be UTF-8.
        token, attempt, crashes, snoozes: as in `Claim`.
    """

    queue: str
    key: str
    token: int
    attempt: int
    crashes: int
    snoozes: int

    @classmethod
    def of(cls, claim: Claim, queue: str) -> Job:
        """Return the job for *claim*."""
        key = claim.key.decode("latin-1")
        return cls(queue, key, claim.token, claim.attempt, claim.crashes, claim.snoozes)

    def claim(self, body: bytes) -> Claim:
        """Return the claim with the envelope *body*."""
        key = self.key.encode("latin-1")
        return Claim(key, self.token, self.attempt, self.crashes, self.snoozes, body)


class Ready(msgspec.Struct, tag="ready"):
    """The child has imported the registry."""


class Failed(msgspec.Struct, tag="failed"):
    """The child cannot import the registry.

    Attributes:
        why: the traceback.
    """

    why: str


class Begun(msgspec.Struct, tag="begun"):
    """The child has received the job. If it dies from now on, this is a crash of the task."""


class Logged(msgspec.Struct, tag="logged"):
    """A log record of the child.

    Attributes:
        record: attributes of the record, as JSON values.
    """

    record: dict[str, Any]


class Reported(msgspec.Struct, tag="reported"):
    """The task reports an event. The body of the frame is the content of the event as JSON.

    Attributes:
        kind: the letter of the kind of event.
    """

    kind: str


class Settled(msgspec.Struct, tag="settled"):
    """How the task is settled. The body of the frame is the text of the settlement.

    Attributes:
        verb, ms, urgent, pauses_key: as in `Settlement`.
        error: type of the exception that the task raised; empty if it raised none.
    """

    verb: Verb
    ms: int
    urgent: bool
    error: str
    pauses_key: bool = False

    def settlement(self, claim: Claim, text: bytes) -> Settlement:
        """Return the settlement of *claim*."""
        return Settlement(claim, self.verb, self.ms, text, self.urgent, pauses_key=self.pauses_key)


Report = Ready | Failed | Begun | Logged | Reported | Settled

REPORT: Final[msgspec.json.Decoder[Report]] = msgspec.json.Decoder(Report)
