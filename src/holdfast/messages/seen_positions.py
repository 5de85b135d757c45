"""What a reader remembers, so that it notices when the server has lost something."""

from __future__ import annotations

from .message import Batch, FetchReply, Gap, Position


class SeenPositions:
    """What was seen, by mailbox or chat. For all threads: what they note only adds up."""

    def __init__(self) -> None:
        self._seen: dict[str, Position] = {}

    def snapshot(self) -> dict[str, Position]:
        """What was seen up to now. Take it before asking: others may see more meanwhile."""
        return dict(self._seen)

    def of(self, source: str) -> Position | None:
        """What was seen last; None: nothing."""
        return self._seen.get(source)

    def note(self, source: str, position: Position) -> None:
        """It was seen up to *position*."""
        seen = self._seen.get(source)
        if position.epoch and (
            seen is None or seen.epoch != position.epoch or seen.seq < position.seq
        ):
            self._seen[source] = position

    def forget(self, source: str) -> None:
        """It is over."""
        self._seen.pop(source, None)

    def cut(self, source: str, row: FetchReply) -> None:
        """What was seen is lost: only what *row* says counts."""
        if row.epoch:
            self._seen[source] = row.position
        else:
            self.forget(source)


def reset(row: FetchReply, seen: Position | None, *, own: bool) -> Gap | None:
    """What the server has lost of that which was seen; None: nothing that can be noticed.

    Args:
        row: as the server answered, which compared its log with *seen*.
        seen: what was sent to it; None: nothing.
        own: whether the device itself said so, and now reads again whatever it may read.
    """
    if seen is None or row.same:
        return None
    if row.epoch == seen.epoch and row.top < seen.seq and not own:
        return Gap(row.top + 1, seen.seq, "reset")
    return Gap(1, seen.seq, "reset")


def position_text(position: Position | None, *, own: bool) -> str:
    """Return what was seen as the scripts take it (`lua/parts/position.lua`).

    Args:
        position: what was seen; None: nothing.
        own: whether to read on from there, and to take for lost what cannot be compared.
    """
    if position is None:
        return ""
    stamp = "" if position.sent_ms is None else position.sent_ms
    return f"{'>' if own else ''}{position.epoch}:{position.seq}:{stamp}"


def batch_position(batch: Batch) -> str:
    """Return where *batch* ends as `ack.lua` takes it; empty if it does not matter."""
    return position_text(batch.position, own=True) if batch.epoch else ""
