"""Values that no part of Holdfast writes, for each place where one may stand on the server."""

import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

Client = Any

JUNK: Final = (
    b"", b"x", b"-1", b"0", b"1.5", b"nan", b"inf", b"-inf", b"1e400", b"4294967297",
    b"9223372036854775807", b"99999999999999999999", b"1" * 400, b"\xff\xfe", b"\0", b"{", b"null",
    b"\xc1", b": :,", "١٢".encode(),
)  # fmt: skip
"""Whole values. The last one is digits to `str.isdigit`, and to nothing else."""

NUMBERS: Final = (b"-1", b"0", b"1.5", b"nan", b"1e400", b"4294967297", b"9223372036854775808",
                  b"1" * 400, b"x", b"")  # fmt: skip
"""In the place of a number in a text."""

FIELDS: Final = (None, -1, 0, 1.5, math.inf, math.nan, 2**40, 2**63, "x", b"\xff", [], {}, True)
"""In the place of a field of a MessagePack or JSON map."""

SCORES: Final = (math.inf, -math.inf, -1.0, 0.0, 1.5, 1e300, 2.0**63, 2.0**40)

MOST_NUMBERS: Final = 8
MOST_PLACES: Final = 6
"""Fields, members or elements of one key that are tried."""

_NUMBER = re.compile(rb"\d+")


class Damage(NamedTuple):
    """One damage to one key.

    Attributes:
        what: a description.
        do: makes it.
    """

    what: str
    do: Callable[[Client], object]


def damages(client: Client, key: bytes) -> Iterator[Damage]:
    """Yield every damage to *key*, as it is now."""
    kind = client.type(key).decode()
    name = key.decode(errors="backslashreplace").rpartition("}")[2]
    yield Damage(f"{name}: deleted", lambda c: c.delete(key))
    for other, put in _OTHERS.items():
        if other != kind:
            yield Damage(f"{name}: a {other}", partial(_replace, key=key, put=put))
    for what, do in _OF[kind](client, key):
        yield Damage(f"{name}{what}", do)


def _replace(client: Client, key: bytes, put: Callable[[Client, bytes], object]) -> None:
    client.delete(key)
    put(client, key)


_OTHERS: Final[dict[str, Callable[[Client, bytes], object]]] = {
    "string": lambda c, key: c.set(key, "1"),
    "hash": lambda c, key: c.hset(key, "1", "1"),
    "list": lambda c, key: c.rpush(key, "1"),
    "set": lambda c, key: c.sadd(key, "1"),
    "zset": lambda c, key: c.zadd(key, {"1": 1}),
    "stream": lambda c, key: c.xadd(key, {"1": "1"}),
}

Found = Iterator[tuple[str, Callable[[Client], object]]]


def _of_string(client: Client, key: bytes) -> Found:
    for value in hostile(client.get(key)):
        yield f" = {shown(value)}", lambda c, value=value: c.set(key, value, keepttl=True)


def _of_hash(client: Client, key: bytes) -> Found:
    held = sorted(client.hgetall(key).items())
    for field, before in held[:40] if len(held) < 40 else held[:MOST_PLACES]:
        for value in hostile(before):
            yield (
                f"[{shown(field)}] = {shown(value)}",
                lambda c, field=field, value=value: c.hset(key, field, value),
            )
    for field, before in held[:MOST_PLACES]:
        yield f"[{shown(field)}] deleted", lambda c, field=field: c.hdel(key, field)
        for other in hostile(field):
            yield (
                f"[{shown(field)}] renamed {shown(other)}",
                lambda c, field=field, before=before, other=other: (
                    c.hdel(key, field),
                    c.hset(key, other, before),
                ),
            )


def _of_list(client: Client, key: bytes) -> Found:
    for place, before in enumerate(client.lrange(key, 0, 1)):
        for value in hostile(before):
            yield (
                f"[{place}] = {shown(value)}",
                lambda c, place=place, value=value: c.lset(key, place, value),
            )


def _of_set(client: Client, key: bytes) -> Found:
    for value in JUNK:
        yield f" has {shown(value)}", lambda c, value=value: c.sadd(key, value)


def _of_zset(client: Client, key: bytes) -> Found:
    held = client.zrange(key, 0, MOST_PLACES - 1, withscores=True)
    for score in SCORES:
        yield (
            f" all at {score}",
            lambda c, score=score: c.zadd(key, {member: score for member, _ in held}),
        )
    for member, before in held:
        yield f"[{shown(member)}] removed", lambda c, member=member: c.zrem(key, member)
        for score in SCORES:
            yield (
                f"[{shown(member)}] at {score}",
                lambda c, member=member, score=score: c.zadd(key, {member: score}),
            )
        for other in hostile(member):
            yield (
                f"[{shown(member)}] renamed {shown(other)}",
                lambda c, member=member, before=before, other=other: (
                    c.zrem(key, member),
                    c.zadd(key, {other: before}),
                ),
            )


def _of_stream(client: Client, key: bytes) -> Found:
    last, fields = client.xrevrange(key, count=1)[0]
    number = int(last.partition(b"-")[0])
    for name in fields:
        for value in hostile(fields[name]):
            yield (
                f" last {shown(name)} = {shown(value)}",
                lambda c, name=name, value=value: (
                    c.xdel(key, last),
                    c.xadd(key, {**fields, name: value}, id=f"{number + 1}-0"),
                ),
            )
        for other in JUNK:
            yield (
                f" last {shown(name)} renamed {shown(other)}",
                lambda c, name=name, other=other: (
                    c.xdel(key, last),
                    c.xadd(key, {other: fields[name]}, id=f"{number + 1}-0"),
                ),
            )
    for entry in ("9223372036854775808-0", "18446744073709551615-1", f"{2**53 + 1}-1"):
        yield f" gets {entry}", lambda c, entry=entry: c.xadd(key, fields, id=entry)
    yield " loses its first", lambda c: c.xdel(key, c.xrange(key, count=1)[0][0])
    yield " is empty", lambda c: c.xtrim(key, maxlen=0, approximate=False)


_OF: Final[dict[str, Callable[[Client, bytes], Found]]] = {
    "string": _of_string,
    "hash": _of_hash,
    "list": _of_list,
    "set": _of_set,
    "zset": _of_zset,
    "stream": _of_stream,
}


def hostile(value: bytes) -> Iterator[bytes]:
    """Yield what may stand in the place of *value*: junk, and *value* with one part changed."""
    yield from JUNK
    for match in list(_NUMBER.finditer(value))[:MOST_NUMBERS]:
        for number in NUMBERS:
            yield value[: match.start()] + number + value[match.end() :]
    for codec in (msgspec.msgpack, msgspec.json):
        try:
            whole = codec.decode(value)
        except (ValueError, RecursionError):
            continue
        if not isinstance(whole, dict) or len(whole) > MOST_NUMBERS * 2:
            continue
        for field in whole:
            yield codec.encode({other: whole[other] for other in whole if other != field})
            for changed in FIELDS:
                yield codec.encode({**whole, field: changed})


def shown(value: bytes) -> str:
    """Return *value* as text for a message."""
    return repr(value if len(value) <= 60 else value[:60] + b"...")[2:-1]
