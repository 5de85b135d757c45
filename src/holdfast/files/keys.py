"""Every key of a feed: its type, content and lifetime.

All expire a day after the last call of a publisher or consumer. When a feed has ended (sealed and
read by all consumers, or aborted), only `meta` stays, for an hour: it informs later callers.

Files have numbers, from 1 on in the order in which their publishing began. A *group* gets each file
once. With `broadcast` each consumer is a group, numbered by its place in the definition. With
`share` all consumers together are group 1.
"""

from __future__ import annotations

from ..core.names import Unit

KIND = "feed"


def meta(unit: Unit) -> str:
    """HASH of the state of the feed.

    - `definition`: MessagePack of `mode`, `budget`, `lease_ms` and `consumers`.
    - `epoch`: when the feed began (us).
    - `state`: `open`, `sealed`, `aborted`, or `over` (sealed, and read by all consumers).
    - `used`: bytes of the budget in use.
    - `top`: number of the latest file. `low`: no file below this number is stored.
    - `left`: number of files that a group has not finished.
    - `bytes`: unpacked bytes published.
    - `token`: latest token of an assignment (us).
    - `done:group`: bytes that the group has finished.
    - `failed`: number of files that failed too often, counted once for each group.
    """
    return unit.key("meta")


def names(unit: Unit) -> str:
    """HASH name of a file → MessagePack: `number` and, once it was published, `state` (`whole` or
    `damaged`), `bytes` and `digest`. It has all files of the feed, also those that were dropped.
    """
    return unit.key("names")


def files(unit: Unit) -> str:
    """HASH number of a file → MessagePack.

    - `name`, `state` (`open`, `whole`, `damaged`), `problem`.
    - `count`: number of chunks. `floor`: index of the first chunk that is stored.
    - `bytes`: unpacked bytes. `digest`: digest of them.
    - `kept`: bytes of the budget for stored chunks. `cost`: other bytes of the budget.
    - `done`: a digit for each group: 1 finished, 2 reading failed too often, 0 otherwise.
    - `born`: when its publishing began (us).
    - `reason`: why reading it failed last.
    """
    return unit.key("files")


def chunks(unit: Unit) -> str:
    """HASH `file:index` → a chunk: 130,944 unpacked bytes; the last chunk of a file may have fewer.

    One byte for the codec (`r` none, `z` zlib, `s` Zstandard), the CRC-32 of the unpacked bytes, 32
    digits of digest, and the payload; see `chunk.py`.
    """
    return unit.key("chunks")


def positions(unit: Unit) -> str:
    """HASH of the positions of groups in files.

    - `group:file` → MessagePack: `acked`, `read` and `counted` (unpacked bytes); `session` that
      holds the file, `token` of the assignment, `until_ms` (end of the lease); `tries` (failures in
      a row), `returns` (how often it was given back without an error), `by` (the consumer that
      failed last), `after_ms` (start of the next attempt).
    - `group` → no file below this number is left for the group.
    - `*session` → number of its latest claim, and the file that it got.
    """
    return unit.key("positions")


def sessions(unit: Unit) -> str:
    """ZSET of the sessions of consumers (13 digits and the name), scored by the end of their leases
    (ms).
    """
    return unit.key("sessions")


def consumers(unit: Unit) -> str:
    """HASH name of a consumer → MessagePack: `until_ms` (end of its lease), `files` and `bytes`
    that it finished, `damaged` files among them, `missed` files that were dropped unread,
    `unreported` (missed files that were not reported to it), `failing` (files that failed in a
    row), and `after_ms`, when it may have the next one.
    """
    return unit.key("consumers")


def publishing(unit: Unit) -> str:
    """HASH number → name of each file that is being published."""
    return unit.key("publishing")


def waiting(unit: Unit) -> str:
    """ZSET of the channels of publishers that wait for room, scored by when they stop waiting
    (ms)."""
    return unit.key("waiting")
