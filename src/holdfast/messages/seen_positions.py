"""What one reader object has returned, so that it notices when the server has lost messages."""

from __future__ import annotations

from .message import Batch, FetchReply, Gap, Position


class SeenPositions:
    """The last position that was returned for each mailbox or chat. It is thread-safe."""

    def __init__(self) -> None:
        self._seen: dict[str, Position] = {}

    def snapshot(self) -> dict[str, Position]:
        """Return a copy. Take it before a request: other threads may add positions meanwhile."""
        return dict(self._seen)

    def of(self, source: str) -> Position | None:
        """Return the last position of *source*; None if nothing was returned yet."""
        return self._seen.get(source)

    def note(self, source: str, position: Position) -> None:
        """Record *position*, unless a later one of the same epoch is known."""
        seen = self._seen.get(source)
        if position.epoch and (
            seen is None or seen.epoch != position.epoch or seen.seq < position.seq
        ):
            self._seen[source] = position

    def forget(self, source: str) -> None:
        """Forget *source*."""
        self._seen.pop(source, None)

    def reset(self, source: str, reply: FetchReply) -> None:
        """Replace the position of *source*, which the server has lost, by that of *reply*."""
        if reply.epoch:
            self._seen[source] = reply.position
        else:
            self.forget(source)


def lost_since(reply: FetchReply, seen: Position | None, *, own: bool) -> Gap | None:
    """Return the messages that the server has lost since *seen*; None if it has lost nothing.

    Args:
        reply: of the server, which compared its log with *seen*.
        seen: the position that was sent; None if there was none.
        own: whether the caller gave the position with `after`. All messages come again then.
    """
    if seen is None or reply.holds_seen:
        return None
    if reply.epoch == seen.epoch and reply.top < seen.seq and not own:
        return Gap(reply.top + 1, seen.seq, "reset")
    return Gap(1, seen.seq, "reset")


def position_text(position: Position | None, *, own: bool) -> str:
    """Return *position* as an argument of the scripts (`lua/parts/position.lua`).

    Args:
        position: the last one that was returned; None if there is none.
        own: whether the server shall read on from it, and treat a position without time as lost.
    """
    if position is None:
        return ""
    stamp = "" if position.sent_ms is None else position.sent_ms
    return f"{'>' if own else ''}{position.epoch}:{position.seq}:{stamp}"


def batch_position(batch: Batch) -> str:
    """Return where *batch* ends as an argument of `ack.lua`; empty for a batch without epoch."""
    return position_text(batch.position, own=True) if batch.epoch else ""
