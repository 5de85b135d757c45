"""Record which messages a reader object has returned, to notice when the server loses messages."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.gap import Gap
from .message import Batch, FetchReply, Position


class SeenPositions:
    """Record the last position that was returned for each mailbox or chat. It is thread-safe."""

    def __init__(self) -> None:
        self._seen: dict[str, Position] = {}
        self._version = object()
        self._snapshot: tuple[object, Mapping[str, Position]] = self._version, {}

    def snapshot(self) -> Mapping[str, Position]:
        """Return a copy of the positions; the same one as before if they have not changed.

        Use one copy for a whole request, because other threads may change the positions meanwhile.
        """
        version, latest = self._version, self._snapshot
        # `version` is read before the copy, and writers replace it after they change a position.
        # So a copy that misses a change has an old version, and the next call replaces it.
        if latest[0] is not version:
            latest = self._snapshot = version, dict(self._seen)
        return latest[1]

    def of(self, source: str) -> Position | None:
        """Return the last position of *source*; None if no message of it was returned yet."""
        return self._seen.get(source)

    def note(self, source: str, position: Position) -> None:
        """Record *position*, unless it is earlier than the recorded one of the same epoch."""
        seen = self._seen.get(source)
        if position.epoch and (
            seen is None or seen.epoch != position.epoch or seen.seq < position.seq
        ):
            self._set(source, position)

    def forget(self, source: str) -> None:
        """Remove the position of *source*."""
        self._seen.pop(source, None)
        self._version = object()

    def reset(self, source: str, reply: FetchReply) -> None:
        """Set the position of *source* to the one in *reply*: the server no longer has the stored
        position. Forget *source* if *reply* says that it does not exist (epoch 0)."""
        if reply.epoch:
            self._set(source, reply.position)
        else:
            self.forget(source)

    def _set(self, source: str, position: Position) -> None:
        self._seen[source] = position
        self._version = object()


def lost_since(reply: FetchReply, seen: Position | None, *, own: bool) -> Gap | None:
    """Return the messages that the server has lost since *seen*; None if it has lost none.

    Args:
        reply: reply to a request that sent *seen*.
        seen: the position that was sent; None if there was none.
        own: whether the user gave this position with `after`. If so, all messages are returned
            again after a loss, so the gap begins at 1.
    """
    if seen is None or reply.holds_seen:
        return None
    if reply.epoch == seen.epoch and reply.top < seen.seq and not own:
        return Gap(reply.top + 1, seen.seq, "reset")
    return Gap(1, seen.seq, "reset")


def position_text(position: Position | None, *, own: bool) -> str:
    """Return *position* as an argument of scripts (see `lua/parts/position.lua`).

    Args:
        position: the last position that was returned; None if there is none.
        own: whether the caller gave the position with `after`. Then the server returns all
            messages after it, acknowledged or not. If it has no time, the server cannot check
            it, so it is treated as lost.
    """
    if position is None:
        return ""
    stamp = "" if position.sent_ms is None else position.sent_ms
    return f"{'>' if own else ''}{position.epoch}:{position.seq}-{stamp}"


def batch_position(batch: Batch) -> str:
    """Return the argument *read* of `ack.lua` for a batch; empty for a batch without an epoch."""
    return position_text(batch.position, own=True) if batch.epoch else ""
