"""What a worker holds, and what it has to say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Self

MAX_CRASHES: Final = 3
"""Claims whose worker vanished; then the task itself is suspected, and buried."""

Verb = Literal["done", "retry", "dead", "release", "park"]


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A task as a step handed it over.

    Attributes:
        key: its id as it is stored, which a stranger may have written.
        token: grows with every claim; settling must present it.
        attempt: 1 for the first; a claim that was given back does not count.
        crashes: earlier attempts whose worker vanished.
        body: the envelope, not yet looked at.
    """

    key: bytes
    token: int
    attempt: int
    crashes: int
    body: bytes

    @classmethod
    def of(cls, key: bytes, token: bytes, attempt: int, crashes: int, body: bytes) -> Self:
        """Return the claim that `step.lua` answers."""
        return cls(key, int(token), attempt, crashes, body)

    @property
    def identity(self) -> tuple[bytes, int]:
        """Return what distinguishes it from all other claims of its queue."""
        return self.key, self.token

    @property
    def task_id(self) -> str:
        """Its id, for people and for the task itself."""
        return self.key.decode(errors="backslashreplace")

    @property
    def is_suspect(self) -> bool:
        """Whether the next crash buries it: until then it may be the one that kills its workers."""
        return self.crashes >= MAX_CRASHES - 1

    @property
    def failures(self) -> int:
        """How often it raised before."""
        return self.attempt - self.crashes - 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to become of a claimed task, for the next step to write down.

    Attributes:
        claim: of which task.
        verb: `done`, `retry`, `dead`, `release` (back to the front, no attempt spent) or `park`
            (until a worker comes that knows the task, no attempt spent).
        ms: how long to keep the result (done), to wait (retry) or to park in all.
        text: the result as it is stored (done), or the reason.
        urgent: the server is to be told at once.
    """

    claim: Claim
    verb: Verb
    ms: int = 0
    text: str | bytes = ""
    urgent: bool = False
