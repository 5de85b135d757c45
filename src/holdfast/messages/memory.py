"""What a reader remembers, so that it notices when the server has lost something."""

from __future__ import annotations

from .message import Gap, Position, Row


class Memory:
    """What was seen, by mailbox or chat. For all threads: what they note only adds up."""

    def __init__(self) -> None:
        self._seen: dict[str, Position] = {}

    def snapshot(self) -> dict[str, Position]:
        """What was seen up to now. Take it before asking: others may see more meanwhile."""
        return dict(self._seen)

    def epoch(self, source: str) -> int:
        """The incarnation that was seen last; 0: none."""
        seen = self._seen.get(source)
        return seen.epoch if seen else 0

    def note(self, source: str, epoch: int, seq: int) -> None:
        """It was seen up to *seq*."""
        seen = self._seen.get(source)
        if epoch and (seen is None or seen.epoch != epoch or seen.seq < seq):
            self._seen[source] = Position(epoch, seq)

    def forget(self, source: str) -> None:
        """It is over."""
        self._seen.pop(source, None)

    def cut(self, source: str, row: Row) -> None:
        """What was seen is lost: only what *row* says counts."""
        if row.epoch:
            self._seen[source] = Position(row.epoch, min(row.top, row.read_seq))
        else:
            self.forget(source)


def reset(row: Row, seen: Position | None) -> Gap | None:
    """What the server has lost of that which was seen; None: nothing that can be noticed."""
    if seen is None:
        return None
    if row.epoch != seen.epoch:
        return Gap(1, seen.seq, "reset")
    if row.top < seen.seq:
        return Gap(row.top + 1, seen.seq, "reset")
    return None


def said(position: Position | None) -> tuple[str, str]:
    """What a device has, as `fetch.lua` takes it."""
    return ("", "") if position is None else (str(position.epoch), str(position.seq))
