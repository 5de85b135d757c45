"""Every key of a feed: its type, content and lifetime.

All vanish a day after the last sign of life of a publisher or consumer. When a feed is over (sealed
and read by everybody, or aborted) only `meta` stays, for an hour: it says so to latecomers.

Files have numbers, from 1 on in the order in which they were begun. A *group* is who gets each file
once: with `broadcast` each consumer, by its place in the definition; with `share` all together, 1.
"""

from __future__ import annotations

from ..core.names import Unit

KIND = "feed"


def meta(unit: Unit) -> str:
    """HASH of what there is.

    `definition` (MessagePack: `mode`, `budget`, `lease_ms`, `consumers`), `epoch` (us of the
    beginning), `state` (`open`, `sealed`, `aborted`; `over`: sealed, and read by everybody), `used`
    (bytes of the budget), `top` (the last number), `low` (no file below it is there), `left` (files
    that somebody has still to read), `bytes` (published, unpacked), `token` (the last one
    given, us), `done:group` (bytes that the group is done with), `failed` (how many files failed
    too often, counted once for each group).
    """
    return unit.key("meta")


def names(unit: Unit) -> str:
    """HASH name of a file → MessagePack: `number` and, once it was published, `state` (`whole` or
    `damaged`), `bytes` and `digest`. Of all files of the feed, also of those that are gone.
    """
    return unit.key("names")


def files(unit: Unit) -> str:
    """HASH number of a file → MessagePack: `name`, `state` (`open`, `whole`, `damaged`), `count`
    (chunks), `floor` (the first chunk that is kept), `bytes` (unpacked), `digest`, `problem`,
    `kept` and `cost` (bytes of the budget: of the chunks that are kept, and beside them), `done` (a
    digit for each group: 1, it is done with the file; 2, reading it failed too often), `born` (us,
    when it was begun), `reason` (why reading it failed last).
    """
    return unit.key("files")


def chunks(unit: Unit) -> str:
    """HASH `file:index` → a chunk: 130,944 unpacked bytes, but for the last one of a file.

    One byte for the codec (`r` none, `z` zlib, `s` Zstandard), the CRC-32 of the unpacked bytes, 32
    digits of digest, and the payload; see `chunk.py`.
    """
    return unit.key("chunks")


def positions(unit: Unit) -> str:
    """HASH `group:file` → MessagePack of where the group stands: `acked`, `read` and `counted`
    (unpacked bytes), `session` that holds the file, `token` of that grant and `until_ms`, the end
    of its lease; `tries` that failed in a row, `returns` (how often it came back unread without an
    error), `by`, the last consumer that failed, and `after_ms`, when the next attempt may begin.
    `group` → no file below this number is left for it. `*session` → what it was given last: number
    of the claim, and of the file.
    """
    return unit.key("positions")


def sessions(unit: Unit) -> str:
    """ZSET of the sessions of consumers (13 digits and the name), scored by the end of their leases
    (ms)."""
    return unit.key("sessions")


def consumers(unit: Unit) -> str:
    """HASH name of a consumer → MessagePack: `until_ms` (when it counts as dead), `files` and
    `bytes` it is done with, `damaged` files among them, `missed` files that were dropped unread,
    `unreported`, how many of these were not reported to it, `failing`, how many files failed in a
    row, and `after_ms`, when it may have the next one.
    """
    return unit.key("consumers")


def publishing(unit: Unit) -> str:
    """HASH number → name of each file that is being published."""
    return unit.key("publishing")


def waiting(unit: Unit) -> str:
    """ZSET of the channels of publishers that wait for room, scored by when they give up (ms)."""
    return unit.key("waiting")
