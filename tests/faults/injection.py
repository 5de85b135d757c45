"""A fault that waits for its request or reply: `Injection`."""

from dataclasses import dataclass
from typing import Literal, Self

from faults.resp import first_word
from faults.waiting import eventually

SETUP = {"HELLO", "AUTH", "SELECT", "CLIENT", "READONLY", "CLUSTER", "COMMAND"}

Kind = Literal["request", "reply", "push"]


@dataclass(frozen=True)
class Dropped:
    """One fault that fired: what was lost, and the request it belonged to (a push: itself)."""

    kind: Kind
    command: str
    request: bytes

    @classmethod
    def of(cls, kind: Kind, request: bytes) -> Self:
        """Name the command of the request."""
        return cls(kind, first_word(request), request)


@dataclass
class Injection:
    """What to lose, and when; `fired` counts how often it happened.

    Args:
        kind: Lose a request before it reaches the server, a reply after it left it, or a push.
        match: Count only requests that contain these bytes (a push: the push itself). None: count
            all but those that set up a connection, such as HELLO.
        skip: So many come through first.
        count: So many are lost after that.
        keep: So many bytes of a lost reply come through all the same.
    """

    kind: Kind
    match: bytes | None = None
    skip: int = 0
    count: int = 1
    keep: int = 0
    fired: int = 0

    def takes(self, kind: Kind, request: bytes) -> bool:
        """Decide about one request, about the reply to it, or about one push."""
        if kind != self.kind or self.fired == self.count or not self._concerns(request):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.fired += 1
        return True

    def wait(self, timeout: float = 60.0) -> None:
        """Wait until all of it has happened; AssertionError if it does not."""
        eventually(lambda: self.fired == self.count, timeout, reason=f"{self} has fired")

    def _concerns(self, request: bytes) -> bool:
        if self.match is None:
            return first_word(request) not in SETUP
        return self.match in request
