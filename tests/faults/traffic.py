"""What all connections of one proxy share: the faults in force and the counts so far."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from faults.injection import Dropped, Injection, Kind

Direction = Literal["requests", "replies"]


@dataclass
class Traffic:
    """The faults in force, and what went through; touched only by the proxy's own thread."""

    delay_s: dict[Direction, float] = field(default_factory=dict)
    swallowed: frozenset[Direction] = frozenset()
    slice_bytes: int | None = None
    injections: list[Injection] = field(default_factory=list)

    connections: int = 0
    requests: int = 0
    replies: int = 0
    pushes: int = 0
    commands: Counter[str] = field(default_factory=Counter)
    dropped: list[Dropped] = field(default_factory=list)

    def clear(self) -> None:
        """End every fault; the counts stay."""
        self.delay_s = {}
        self.swallowed = frozenset()
        self.slice_bytes = None
        self.injections.clear()

    def takes(self, kind: Kind, request: bytes) -> Injection | None:
        """Show one event to every injection; return the first that fires on it."""
        fired = [injection for injection in self.injections if injection.takes(kind, request)]
        if not fired:
            return None
        self.dropped.append(Dropped.of(kind, request))
        return fired[0]
