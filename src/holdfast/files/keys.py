"""Every key of a feed: its type, content and lifetime.

All keys expire a day after the last call of a publisher or consumer. When a feed has ended (sealed
and read by all consumers, or aborted), only `meta` stays for an hour, so that later callers learn
how the feed ended.

Files are numbered from 1, in the order in which their publishing began. A *group* gets each file
once. With `broadcast` each consumer is a group; its number is its place in the definition, from 1.
With `share` all consumers together are group 1.
"""

from __future__ import annotations

from ..core.names import Unit

KIND = "feed"


def meta(unit: Unit) -> str:
    """HASH of the state of the feed.

    - `definition`: MessagePack of `mode`, `budget`, `lease_ms` and `consumers`.
    - `epoch`: when the feed began (us); it distinguishes feeds of the same name.
    - `state`: `open`, `sealed`, `aborted`, or `over` (sealed, and read by all consumers).
    - `used`: bytes of the budget in use.
    - `top`: number of the latest file. `low`: no file below this number is stored.
    - `left`: number of files that at least one group has not finished.
    - `bytes`: unpacked bytes published.
    - `token`: latest token of an assignment (us).
    - `done:GROUP`: bytes that this group has finished.
    - `failed`: number of files that failed too often, counted once for each group.
    """
    return unit.key("meta")


def names(unit: Unit) -> str:
    """HASH name of a file → MessagePack: `number`; once the file was published, also `state`
    (`whole` or `damaged`), `bytes` and `digest`. A dropped file keeps its field.
    """
    return unit.key("names")


def files(unit: Unit) -> str:
    """HASH number of a file → MessagePack.

    - `name`, `state` (`open`, `whole`, `damaged`), `problem` (why the file is damaged).
    - `count`: number of published chunks. `floor`: index of the first chunk that is stored.
    - `bytes`: unpacked bytes. `digest`: digest of these bytes.
    - `kept`: bytes of the budget for stored chunks. `cost`: other bytes of the budget.
    - `done`: a digit for each group: 1 finished, 2 reading failed too often, 0 otherwise.
    - `born`: when publishing of the file began (us).
    - `reason`: the error of the latest failed attempt to read the file.
    """
    return unit.key("files")


def chunks(unit: Unit) -> str:
    """HASH `FILE:INDEX` → a chunk: 130,944 unpacked bytes, or fewer at the end of a file.

    A chunk has one byte for the codec (`r` none, `z` zlib, `s` Zstandard), the CRC-32 of the
    unpacked bytes, 32 digits of digest, and the payload; see `chunk.py`.
    """
    return unit.key("chunks")


def positions(unit: Unit) -> str:
    """HASH of the positions of groups in files.

    - `GROUP:FILE` → MessagePack:
      - `acked`, `read`: unpacked bytes that were acknowledged, and that were read. `counted`: bytes
        that `done:GROUP` in `meta` includes.
      - `session`: session that holds the file; `token` of the assignment; `until_ms`: end of the
        lease.
      - `tries`: failures in a row. `returns`: how often the file was given back without an error.
      - `by`: the consumer that failed last. `after_ms`: when the next attempt may start.
    - `GROUP` → the group has finished all files below this number.
    - `*SESSION` → number of its latest claim, a blank, and the number of the file that it got.
    """
    return unit.key("positions")


def sessions(unit: Unit) -> str:
    """ZSET of the sessions of consumers (13 digits and the consumer's name), scored by the end of
    their leases (ms).
    """
    return unit.key("sessions")


def consumers(unit: Unit) -> str:
    """HASH name of a consumer → MessagePack.

    - `until_ms`: end of the consumer's lease.
    - `files`, `bytes`: number and bytes of the files that the consumer has finished. `damaged`: how
      many of these files are damaged.
    - `missed`: files that were dropped before the consumer read them. `unreported`: how many of
      them have not been reported to it.
    - `failing`: failed or returned attempts in a row. `after_ms`: when it may get its next file.
    """
    return unit.key("consumers")


def publishing(unit: Unit) -> str:
    """HASH number → name of each file that is being published."""
    return unit.key("publishing")


def waiting(unit: Unit) -> str:
    """ZSET of the channels of publishers that wait until the budget has room, scored by when they
    stop waiting (ms)."""
    return unit.key("waiting")
