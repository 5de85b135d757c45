"""Which keys are left, and who owns them: `audit`."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

import redis
from redis.cluster import RedisCluster

SCAN_COUNT = 1_000
NO_EXPIRY = -1  # what TTL answers for a key that stays
LAYOUT = "*:{layout:%}:version"
"""Stays in each namespace that was written to."""


class KeyFacts(NamedTuple):
    """The type of a key, and its time to live in seconds; None: it stays."""

    type: str
    ttl: int | None


def audit(
    client: redis.Redis | RedisCluster, prefix: str, allowed: Iterable[str] = ()
) -> dict[str, KeyFacts]:
    """Check that every key under a prefix expires by itself or is one of those allowed to stay.

    Args:
        client: A client of one server, or of a cluster; all primaries are read.
        prefix: What the keys begin with: the namespace.
        allowed: Patterns, as of `fnmatch`, of the keys that may stay forever. A key's own square
            brackets are written `[[]`.

    Returns:
        Every key under the prefix.

    Raises:
        AssertionError: Keys have neither an owner among `allowed` nor a time to live.
    """
    patterns = [*allowed, LAYOUT]
    facts = read_keys(client, prefix)
    strays = {
        key: fact
        for key, fact in facts.items()
        if fact.ttl is None and not any(fnmatchcase(key, pattern) for pattern in patterns)
    }
    if strays:
        names = "\n".join(f"  {key} ({fact.type})" for key, fact in sorted(strays.items()))
        raise AssertionError(f"{len(strays)} keys without owner or time to live:\n{names}")
    return facts


def read_keys(client: redis.Redis | RedisCluster, prefix: str) -> dict[str, KeyFacts]:
    """Return every key under a prefix, on one server or on all primaries of a cluster."""
    found: dict[str, KeyFacts] = {}
    for node in _primaries(client):
        found.update(_read_node(node, prefix))
    return found


def _primaries(client: redis.Redis | RedisCluster) -> list[redis.Redis]:
    if isinstance(client, RedisCluster):
        primaries = client.get_primaries()  # type: ignore[no-untyped-call]
        return [client.get_redis_connection(node) for node in primaries]
    return [client]


def _read_node(node: redis.Redis, prefix: str) -> Iterator[tuple[str, KeyFacts]]:
    pattern = re.sub(r"([\\*?\[\]])", r"\\\1", prefix) + "*"
    cursor = 0
    while True:
        cursor, keys = node.scan(cursor, match=pattern, count=SCAN_COUNT)
        with node.pipeline(transaction=False) as pipeline:
            for key in keys:
                pipeline.type(key)
                pipeline.ttl(key)
            answers = pipeline.execute()
        for key, kind, ttl in zip(keys, answers[::2], answers[1::2], strict=True):
            if _text(kind) != "none":  # it expired meanwhile
                yield _text(key), KeyFacts(_text(kind), None if ttl == NO_EXPIRY else ttl)
        if cursor == 0:
            return


def _text(reply: bytes | str) -> str:
    return reply.decode(errors="backslashreplace") if isinstance(reply, bytes) else reply
