"""Every kind of damage that an audit knows, made by hand."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import redis

Client = redis.Redis | redis.RedisCluster
Key = Callable[[str], str]
"""From the part of a unit to its key."""


class Case(NamedTuple):
    """One damage.

    Attributes:
        kind: of a unit that is sound.
        do: what is done to it.
        message: part of the finding.
        part: in which key; empty: in any.
    """

    kind: str
    do: Callable[[Any, Key], object]
    message: str
    part: str = ""


def _packed(client: Any, key: str, field: str, **changed: Any) -> None:
    """Change fields of a MessagePack in a hash."""
    held = client.hget(key, field)
    found = {
        name: msgspec.msgpack.decode(raw) if name != "digest" else raw
        for name, raw in msgspec.msgpack.decode(held, type=dict[str, msgspec.Raw]).items()
    }
    client.hset(key, field, msgspec.msgpack.encode({**found, **changed}))


def _renamed(client: Any, key: str, field: str, to: str) -> None:
    client.hset(key, to, client.hget(key, field))
    client.hdel(key, field)


def _index(count: int) -> bytes:
    """Return the index of a task with so many steps."""
    index = {"count": count, "bytes": 0, "pending": [], "last": 0, "signals": []}
    return msgspec.msgpack.encode(index)


QUEUE = [
    Case("queue", lambda c, k: c.lpop(k("ready:m")), "is not queued: it will never run"),
    Case("queue", lambda c, k: c.rpush(k("ready:l"), "waiting"), "in ready:l and ready:m"),
    Case("queue", lambda c, k: c.zadd(k("leases"), {"later": 1}), "is in due:m and leases"),
    Case("queue", lambda c, k: c.zadd(k("due:h"), {"lost": 1}), "'lost' has no body", "due:h"),
    Case("queue", lambda c, k: c.hdel(k("bodies"), "waiting"), "'waiting' has no body", "ready:m"),
    Case("queue", lambda c, k: c.hset(k("state"), "lost", "1:1:0:2:0:0:0:"), "has no task"),
    Case("queue", lambda c, k: c.hset(k("state"), "dead", "x"), "'dead' cannot be read"),
    Case("queue", lambda c, k: c.hdel(k("state"), "dead"), "'dead' has no record"),
    Case("queue", lambda c, k: c.sadd(k("tombstones"), "later"), "is in no ready list"),
    Case("queue", lambda c, k: c.zadd(k("expiring"), {"dead": 1}), "to expire, and is not queued"),
    Case(
        "queue",
        lambda c, k: c.hset(k("progress"), "lost", "1:9:"),
        "progress of 'lost' has no task",
    ),
    Case(
        "queue", lambda c, k: c.hset(k("progress"), "dead", "x"), "progress of task 'dead' cannot"
    ),
    Case(
        "queue", lambda c, k: c.rpush(k("events:x"), "x"), "never expires, but should", "events:x"
    ),
    Case("queue", lambda c, k: c.hset(k("unique"), "key", "0:dead"), "'key' of a unique task"),
    Case("queue", lambda c, k: c.hset(k("unique"), "key", "x"), "is held by no task", "unique"),
    Case("queue", lambda c, k: c.hset(k("unique:kept"), "key", "x"), "holds key 'key' cannot be"),
    Case("queue", lambda c, k: c.hset(k("unique:kept"), "key", "1:x"), "never expires, but should"),
    Case("queue", lambda c, k: c.hset(k("settings"), "paused", "yes"), "'paused' is no setting"),
    Case("queue", lambda c, k: c.hset(k("settings"), "limit", "1"), "'limit' is no setting"),
    Case("queue", lambda c, k: c.hset(k("settings"), "layout", "1 2"), "'layout' is no setting"),
    Case("queue", lambda c, k: c.hset(k("settings"), "whole:limit", "1"), "'whole:limit' is no"),
    Case("queue", lambda c, k: c.hset(k("settings"), "limit:x", "1"), "'limit:x' is no setting"),
    Case("queue", lambda c, k: c.hdel(k("limit:keys"), "limited a"), "in slot 1 cannot be read"),
    Case(
        "queue",
        lambda c, k: c.zadd(k("limit:admitted"), {"first": 4}),
        "'first' has a permit of its key, and is not running",
    ),
    Case(
        "queue",
        lambda c, k: c.zrem(k("limit:admitted"), "first"),
        "tasks of key 'limited a' wait although it has room",
        "limit:waiting",
    ),
    Case("queue", lambda c, k: c.zrem(k("limit:waiting"), "second"), "is not queued: it will"),
    Case("queue", lambda c, k: c.persist(k("limit:keys")), "never expires, but should"),
    Case("queue", lambda c, k: c.hset(k("throughput"), "1", "yes"), "minute '1' cannot be read"),
    Case(
        "queue",
        lambda c, k: c.persist(k("throughput")),
        "it never expires, but should",
        "throughput",
    ),
    Case(
        "queue",
        lambda c, k: c.hset(k("schedules"), "lost", "d"),
        "schedule 'lost' is not in schedule:times and schedule:state, so it does not fire",
        "schedule:times",
    ),
    Case(
        "queue",
        lambda c, k: c.zadd(k("schedule:times"), {"lost": 1}),
        "'lost' is not in schedules and schedule:state",
        "schedules",
    ),
    Case(
        "queue",
        lambda c, k: c.hset(k("schedule:state"), "lost", "1:1"),
        "the record of schedule 'lost' cannot be read",
        "schedule:state",
    ),
    Case("queue", lambda c, k: c.hset(k("step:index"), "waiting", "x"), "cannot be read"),
    Case("queue", lambda c, k: c.hset(k("step:index"), "lost", _index(0)), "'lost' have no task"),
    Case("queue", lambda c, k: c.hset(k("step:index"), "dead", _index(1)), "'dead' is missing"),
    Case("queue", lambda c, k: c.hset(k("steps"), "1:dead", "x"), "belongs to no task", "steps"),
    Case("queue", lambda c, k: c.hset(k("signals"), "1:dead", "x"), "to no task", "signals"),
    Case("queue", lambda c, k: c.expire(k("bodies"), 100), "expires in 100 s, but should not"),
    Case("queue", lambda c, k: c.set(k("history"), "x"), "holds a string, and should hold a list"),
    Case("queue", lambda c, k: c.set(k("awaited"), "x"), "holds a string, and should hold a hash"),
    Case("queue", lambda c, k: c.set(k("result:x"), "x"), "never expires, but should", "result:x"),
    Case("queue", lambda c, k: c.set(k("nonsense"), "x"), "no key of Holdfast has this name"),
]
GROUPS = [
    Case("group", lambda c, k: c.hset(k("group"), "total", "x"), "the group cannot be read"),
    Case("group", lambda c, k: c.hset(k("group"), "done", "5"), "5 members are counted as done"),
    Case("group", lambda c, k: c.hset(k("ends"), "0", "x"), "how member '0' ended cannot be read"),
    Case("group", lambda c, k: c.hset(k("ends"), "9", "1 done =1"), "there is no member '9'"),
    Case("group", lambda c, k: c.hdel(k("calls"), "failure"), "callback failure is not stored"),
    Case("group", lambda c, k: c.persist(k("group")), "it never expires, but should"),
]
LOCKS = [
    Case("lock", lambda c, k: c.zadd(k("holders"), {"other": 1}), "2 hold the lock at once"),
    Case(
        "lock", lambda c, k: c.hdel(k("state"), "fence"), "there is a holder but no fence", "state"
    ),
    Case("lock", lambda c, k: c.hdel(k("state"), "limit"), "it has no valid limit", "state"),
    Case("lock", lambda c, k: c.persist(k("state")), "it never expires", "state"),
    Case(
        "lock",
        lambda c, k: c.zadd(k("wait_queue"), {"a c": 1}),
        "it has an uncontended holder, but",
        "state",
    ),
    Case("semaphore", lambda c, k: c.zadd(k("wait_queue"), {"alone": 1}), "is not a waiter"),
    Case(
        "semaphore",
        lambda c, k: c.zadd(k("wait_queue"), {"a c": 1, "b c": 1}),
        "2 wait with the same ticket",
    ),
    Case(
        "semaphore",
        lambda c, k: c.zadd(k("holders"), {b"?" + c.hget(k("state"), "uncontended"): 1}),
        "has two permits",
    ),
    Case("rw_lock", lambda c, k: c.zadd(k("write_queue"), {"alone": 1}), "is not a waiter"),
    Case("rw_lock", lambda c, k: c.zadd(k("holders"), {"a:1:b.w1": 1}), "does not hold the lock"),
    Case("fenced", lambda c, k: c.hdel(k("fenced"), "fence"), "it has no fence"),
    Case("fenced", lambda c, k: c.hset(k("fenced"), "value", "{"), "its value is no JSON"),
]
MESSAGES = [
    Case("mailbox", lambda c, k: c.delete(k("log")), "the log is empty", "log"),
    Case(
        "mailbox",
        lambda c, k: c.delete(k("meta")),
        "the key meta, which describes it, is missing",
        "log",
    ),
    Case("mailbox", lambda c, k: c.xdel(k("log"), _entry(c, k, 2)), "1 messages between 1 and 5"),
    Case("mailbox", lambda c, k: c.xdel(k("log"), _entry(c, k, 5)), "the last message is 4"),
    Case("mailbox", lambda c, k: c.xdel(k("log"), _entry(c, k, 1)), "begins with message 2"),
    Case("mailbox", lambda c, k: c.hset(k("meta"), "top", "x"), "top or floor cannot be read"),
    Case(
        "mailbox", lambda c, k: c.hset(k("meta"), "floor", 9), "9, which is after the last message"
    ),
    Case("mailbox", lambda c, k: c.zadd(k("cursors"), {"x": 1}), "does not own the mailbox"),
    Case("chat", lambda c, k: c.zadd(k("cursors"), {"a": 99}), "'a' has read up to 99 of 2"),
    Case("chat", lambda c, k: c.hset(k("active"), "x", 1), "'x' was active, but is not a reader"),
    Case("chat", lambda c, k: c.hset(k("active"), "a", "?"), "'a' was last active cannot be read"),
    Case("chat", lambda c, k: c.delete(k("cursors")), "it has no reader", "cursors"),
    Case("chat", lambda c, k: c.persist(k("log")), "it never expires", "log"),
    Case("inbox", lambda c, k: c.zrem(k("chats"), ""), "the time of its creation is missing"),
    Case("inbox", lambda c, k: c.hset(k("added"), "x", "=a"), "'x' is not among the chats that"),
    Case("inbox", lambda c, k: c.zadd(k("chats"), {"x": -5}), "who added the user to 'x'"),
]
NAMES = [
    Case("recent", lambda c, k: c.rpush(k("names"), "anna"), "'anna' is there 2 times"),
    Case("recent", lambda c, k: c.set(k("limit"), 1, ex=99), "holds 2 names, and should keep 1"),
    Case("recent", lambda c, k: c.set(k("limit"), "x", ex=99), "it is no number"),
    Case(
        "completions",
        lambda c, k: c.zrem(k("index"), b"1santos\0Carla Santos\0"),
        "'Carla Santos' is not found by 'santos'",
    ),
    Case(
        "completions",
        lambda c, k: c.zadd(k("index"), {b"0x\0Carla Santos\0": 0}),
        "'Carla Santos' is found by 'x', where it does not belong",
    ),
    Case("completions", lambda c, k: c.zadd(k("index"), {b"x": 0}), "is no entry of a name"),
]
COUNTERS = [
    Case("counter", lambda c, k: c.delete(k("definition")), "has no definition", "60:"),
    Case("counter", lambda c, k: c.set(k("definition"), "x", ex=99), "it cannot be read"),
    Case("counter", lambda c, k: c.hset(k("60:0"), "x", "1"), "bucket 'x' cannot be read", "60:0"),
    Case("counter", lambda c, k: c.set(k("59:2"), "x"), "no key of Holdfast has this name"),
]
LIMITS = [
    Case("limiter", lambda c, k: c.set(k("definition"), "x", ex=99), "it cannot be read"),
    Case("limiter", lambda c, k: c.persist(k("definition")), "it never expires", "definition"),
    Case("limit", lambda c, k: c.set(k("log"), "x", ex=99), "it cannot be read", "log"),
    Case("limit", lambda c, k: c.setrange(k("log"), 45, b"\xff"), "do not add up", "log"),
    Case("limit", lambda c, k: c.append(k("log"), "x"), "it cannot be read", "log"),
    Case("limit", lambda c, k: c.persist(k("log")), "it never expires", "log"),
    Case("limit", lambda c, k: c.set(k("other"), "x"), "no key of Holdfast has this name"),
]
CACHE = [
    Case("cached", lambda c, k: c.set(k("definition"), "x", ex=99), "it or the statistics cannot"),
    Case("cached", lambda c, k: c.hset(k("statistics"), "1", "x"), "the statistics cannot be read"),
    Case("cached", lambda c, k: c.persist(k("statistics")), "it never expires", "statistics"),
    Case("values", lambda c, k: c.set(k("epoch"), "x", ex=99), "it cannot be read", "epoch"),
    Case("values", lambda c, k: c.persist(k("value:1:[1]")), "it never expires", "value:1:[1]"),
    Case("values", lambda c, k: c.set(k("load:1:[1]"), "x"), "it never expires", "load:1:[1]"),
    Case("values", lambda c, k: c.set(k("other"), "x"), "no key of Holdfast has this name"),
    Case("tag", lambda c, k: c.set(k("epoch"), "x", ex=99), "it cannot be read", "epoch"),
    Case("tag", lambda c, k: c.persist(k("epoch")), "it never expires", "epoch"),
]
IDEMPOTENCY = [
    Case("idempotent_call", lambda c, k: c.hdel(k("call"), "token"), "it has no token", "call"),
    Case("idempotent_call", lambda c, k: c.hset(k("call"), "x", "1"), "'x' is no field", "call"),
    Case("idempotent_call", lambda c, k: c.persist(k("call")), "it never expires", "call"),
]
ROWS = [
    Case("rows", lambda c, k: c.zrem(k("due"), "1"), "is scheduled, but not in due", "plan"),
    Case("rows", lambda c, k: c.zadd(k("due"), {"9": 1}), "'9' is due, but has no period", "due"),
    Case("rows", lambda c, k: c.hset(k("plan"), "1", "x"), "plan of row '1' cannot be read"),
    Case(
        "rows",
        lambda c, k: (c.zadd(k("loads"), {"1": 1}), c.zrem(k("loads"), "")),
        "the latest token is missing",
        "loads",
    ),
    Case("rows", lambda c, k: c.hset(k("failures"), "1", "x"), "failure of row '1' cannot be read"),
    Case("rows", lambda c, k: c.persist(k("row:1")), "it never expires", "row:1"),
]
FILES = [
    Case("feed", lambda c, k: c.hdel(k("chunks"), "1:0"), "chunk 0 of file 1 is missing"),
    Case("feed", lambda c, k: c.hset(k("chunks"), "9:0", "x"), "3 chunks are stored, not 2"),
    Case("feed", lambda c, k: c.hset(k("chunks"), "1:0", "x"), "file 1 is charged"),
    Case("feed", lambda c, k: c.hincrby(k("meta"), "used", 1), "bytes of the budget, not"),
    Case("feed", lambda c, k: c.hset(k("meta"), "left", 7), "left says that 7 files"),
    Case("feed", lambda c, k: c.hset(k("meta"), "bytes", 7), "bytes says that 7 were"),
    Case("feed", lambda c, k: c.hset(k("meta"), "top", "x"), "top cannot be read", "meta"),
    Case("feed", lambda c, k: c.hset(k("meta"), "definition", "x"), "definition cannot be read"),
    Case("feed", lambda c, k: c.hset(k("meta"), "state", "over"), "when the feed ended", "chunks"),
    Case("feed", lambda c, k: c.hset(k("files"), "1", "x"), "state of file '1' cannot be read"),
    Case("feed", lambda c, k: c.hset(k("names"), "a.log", "x"), "entry of 'a.log' cannot be read"),
    Case("feed", lambda c, k: _renamed(c, k("names"), "a.log", "z"), "a name of another", "files"),
    Case(
        "feed",
        lambda c, k: c.hset(k("publishing"), "1", "a.log"),
        "either open or listed as published",
    ),
    Case("feed", lambda c, k: _packed(c, k("files"), "1", done="000"), "for 3 groups, not for 2"),
    Case(
        "feed", lambda c, k: c.hset(k("positions"), "1:9", _PLACE), "in a file that does not exist"
    ),
    Case("feed", lambda c, k: c.hset(k("positions"), "2:1", "x"), "position '2:1' cannot be read"),
    Case(
        "feed",
        lambda c, k: c.hset(k("positions"), "2:1", _FAR),
        "position '2:1' is at 999999999 of",
    ),
    Case(
        "feed",
        lambda c, k: c.hset(k("positions"), "2:1", _TOKEN),
        "a token that was never assigned",
    ),
    Case("feed", lambda c, k: c.hset(k("positions"), "9", "1"), "group '9' has no valid position"),
    Case("feed", lambda c, k: c.hset(k("positions"), "x", "1"), "'x' is not a position"),
    Case(
        "feed",
        lambda c, k: c.hset(k("positions"), "*x", "1 1"),
        "was assigned a file, but does not exist",
    ),
    Case("feed", lambda c, k: c.persist(k("chunks")), "it never expires", "chunks"),
]
TALLIES = [
    Case("tally", lambda c, k: c.zincrby(k("of:2011-10-10:who"), 1, "a"), "lines together, not 3"),
    Case(
        "tally",
        lambda c, k: c.zadd(k("days"), {"2011-10-10": 1}),
        "1 lines, but of:2011-10-10:who has 3",
        "days",
    ),
    Case("tally", lambda c, k: c.zadd(k("days"), {"2011-10-11": 0.5}), "counts 0.5 lines", "days"),
    Case("tally", lambda c, k: c.lpush(k("journal:x"), "x"), "is not in `pending`", "journal:x"),
    Case("tally", lambda c, k: c.lpush(k("pending"), "y"), "'y' is missing: its counts are lost"),
]
CASES = [
    *(*QUEUE, *GROUPS, *LOCKS, *MESSAGES, *NAMES, *COUNTERS),
    *(*LIMITS, *CACHE, *IDEMPOTENCY, *ROWS, *FILES, *TALLIES),
]

_STANDS = {"acked": 0, "read": 0, "counted": 0, "session": "", "token": 0}
_PLACE = msgspec.msgpack.encode(_STANDS)
_FAR = msgspec.msgpack.encode({**_STANDS, "acked": 999_999_999})
_TOKEN = msgspec.msgpack.encode({**_STANDS, "token": 99})


def _entry(client: Any, key: Key, number: int) -> bytes:
    """Return the id of a message."""
    entry: bytes = client.xrange(key("log"))[number - 1][0]
    return entry
