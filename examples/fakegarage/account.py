"""What the journal of one phone comes to, record after record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .journal import Record


class Note(NamedTuple):
    """A message as a reader has it."""

    sender: str
    id: str
    text: str


@dataclass
class Account:
    """What one phone has done and got.

    Attributes:
        user: the owner of the phone.
        done: what it has done, by id → the number of the message that this made.
        got: by chat (or mailbox): number → message.
        acked: by chat (or mailbox): up to which number it knows that it has acknowledged.
        waits_s: of each message of others, from when it was sent to when it was here.
        repeats: how often it was given what it had already.
        unsure: how often it did not know whether something was sent.
        tunnels: how often it lost the signal.
        signal: whether it has one.
        problems: what must not have happened, in sentences.
    """

    user: str
    done: dict[str, int] = field(default_factory=dict)
    got: dict[str, dict[int, Note]] = field(default_factory=dict)
    acked: dict[str, int] = field(default_factory=dict)
    waits_s: list[float] = field(default_factory=list)
    repeats: int = 0
    unsure: int = 0
    tunnels: int = 0
    signal: bool = False
    problems: list[str] = field(default_factory=list)

    def add(self, record: Record) -> None:
        """Take the next record into account."""
        match record:
            case {"done": act, "seq": seq}:
                self.done[act] = seq
            case {"unsure": _}:
                self.unsure += 1
            case {"acked": source, "upto": upto}:
                self.acked[source] = max(upto, self.acked.get(source, 0))
            case {"signal": signal}:
                self.tunnels += self.signal and not signal
                self.signal = signal
            case {"gap": source, "first": first, "last": last}:
                self._object(f"got an error that numbers {first} to {last} of {source} are lost")
            case {"got": source, "seq": seq}:
                self._get(source, seq, record)

    def _get(self, source: str, seq: int, record: Record) -> None:
        got = self.got.setdefault(source, {})
        if seq in got:
            self.repeats += 1
            if seq <= self.acked.get(source, 0):
                self._object(f"got number {seq} of {source} again after acknowledging it")
            return
        if got and seq < max(got):
            self._object(f"got number {seq} of {source} after number {max(got)}")
        note = Note(record["from"], record.get("id", ""), record.get("text", ""))
        got[seq] = note
        if note.sender != self.user:
            self.waits_s.append(record["waited_s"])

    def _object(self, problem: str) -> None:
        self.problems.append(f"{self.user} {problem}")
