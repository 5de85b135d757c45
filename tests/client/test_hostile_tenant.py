"""A user of `acl_rule` against another tenant of the server: what it can see, break, or stop."""

import secrets
import threading
from collections.abc import Iterator
from typing import Any, Final

import pytest
import redis

from faults.servers import Server
from faults.waiting import eventually
from holdfast import acl_rule

MINE: Final = "tenant"
HIDDEN: Final = secrets.token_hex(8)
"""It stands in the names and values of the other tenant, and in no command that is tried."""

THEIRS: Final = f"theirs:{HIDDEN}"

ALLOWED: Final = {
    *("asking", "auth", "echo", "hello", "ping", "quit", "readonly", "readwrite", "reset"),
    *("select", "wait", "waitaof", "cluster|slots", "info", "memory|usage", "time"),
    *("client|capa", "client|getname", "client|help", "client|id", "client|import-source"),
    *("client|info", "client|no-touch", "client|reply", "client|setinfo", "client|setname"),
    *("command|count", "command|docs", "command|getkeys", "command|getkeysandflags"),
    *("command|help", "command|info", "command|list"),
    *("eval", "evalsha", "scan", "spublish", "ssubscribe", "sunsubscribe"),
    *("del", "exists", "expire", "expireat", "pexpire", "pttl", "rename", "type", "unlink"),
    *("get", "mget", "set"),
    *("hdel", "hexists", "hget", "hgetall", "hincrby", "hlen", "hmget", "hscan", "hset"),
    *("hrandfield", "hsetnx"),
    *("hstrlen", "lindex", "llen", "lpop", "lpush", "lrange", "lrem", "ltrim", "rpush"),
    *("sadd", "scard", "sismember", "srem", "sscan"),
    *("xadd", "xlen", "xrange", "xread", "xrevrange", "xtrim"),
    *("zadd", "zcard", "zcount", "zincrby", "zinter", "zlexcount", "zmscore", "zpopmin", "zrange"),
    *("zrem", "zremrangebyscore", "zrevrange", "zscan", "zscore"),
}
"""All that a user may send, on the servers that have it."""

SHOWS_NAMES: Final = {"scan"}
"""Commands that show names of other tenants; docs/security.md lists them."""

SILENT: Final = {"client|reply", "ssubscribe", "sunsubscribe", "quit"}
"""What has no reply, another kind of reply, or ends the connection."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Start a server where another tenant has a key, a channel, a connection, a script, a name."""
    with Server("--busy-reply-threshold", "100") as server, server.client() as theirs:
        theirs.client_setname(HIDDEN)
        theirs.set(THEIRS, HIDDEN)
        theirs.execute_command("ACL", "SETUSER", HIDDEN, "on", ">x", "~*", "+@all")
        theirs.script_load(f"return '{HIDDEN}'")
        listening = theirs.pubsub()
        listening.subscribe(THEIRS)
        listening.ssubscribe(THEIRS)
        server.execute("ACL", "SETUSER", MINE, *acl_rule(MINE).split(), "on", ">secret")
        server.execute("SET", f"{MINE}:key", "mine")
        yield server
        listening.close()


def user(server: Server, **options: Any) -> redis.Redis:
    """Open a connection of the tenant."""
    return server.client(username=MINE, password="secret", protocol=2, **options)


@pytest.fixture(scope="module")
def commands(server: Server) -> dict[str, int]:
    """Return every command and subcommand of the server, with its least number of words."""
    found: dict[str, int] = {}

    def take(entries: list[Any]) -> None:
        for name, arity, *_, parts in (entry[:10] for entry in entries):
            if parts:
                take(parts)
            else:
                found[name.decode()] = abs(arity)

    names = server.execute("COMMAND LIST")
    take(server.execute("COMMAND INFO", *names))
    return found


def words_of(command: str, least: int, argument: str) -> list[str]:
    """Return the words of a *command*, as many as it needs, each argument the same."""
    words = command.split("|")
    return [*words, *[argument] * (least - len(words))]


def test_it_may_send_what_is_listed_here(server: Server, commands: dict[str, int]) -> None:
    allowed = set()
    for command, least in commands.items():
        words = words_of(command, least, f"{MINE}:key")
        reply = server.execute("ACL", "DRYRUN", MINE, *words)
        if b"no permissions to run" not in reply:
            allowed.add(command)
    assert allowed == ALLOWED & commands.keys()


def tried(server: Server, words: list[str]) -> bytes:
    with user(server, socket_timeout=5.0) as client:
        client.response_callbacks.clear()
        try:
            return repr(client.execute_command(*words)).encode()
        except redis.exceptions.RedisError as error:
            return str(error).encode()


@pytest.mark.parametrize("argument", ["0", "*", THEIRS.replace(HIDDEN, "x"), f"{MINE}:key"])
def test_it_sees_and_changes_nothing_of_others(
    server: Server, commands: dict[str, int], argument: str
) -> None:
    before = server.execute("DUMP", THEIRS)
    shown = {
        command
        for command in (ALLOWED & commands.keys()) - SILENT
        if HIDDEN.encode() in tried(server, words_of(command, commands[command], argument))
    }
    assert shown <= SHOWS_NAMES
    assert server.execute("DUMP", THEIRS) == before
    assert server.execute("PING")


def test_scan_shows_names(server: Server) -> None:
    assert HIDDEN.encode() in tried(server, ["SCAN", "0", "COUNT", "1000"])
    assert b"ermission" in tried(server, ["GET", THEIRS])


def test_a_key_of_others_is_closed_to_every_command(
    server: Server, commands: dict[str, int]
) -> None:
    before = server.execute("DUMP", THEIRS)
    with user(server) as client:
        for command in sorted(ALLOWED & commands.keys()):
            words = words_of(command, commands[command], THEIRS)
            reply = server.execute("ACL", "DRYRUN", MINE, *words)
            has_key = server.execute("ACL", "DRYRUN", HIDDEN, *words) == b"OK" and reply != b"OK"
            if has_key:
                with pytest.raises(redis.exceptions.RedisError):
                    client.eval("return redis.call(unpack(ARGV))", 0, *words)
    assert server.execute("DUMP", THEIRS) == before


def test_a_script_may_do_no_more(server: Server, commands: dict[str, int]) -> None:
    """Every command that is denied is denied in a script as well."""
    with user(server) as client:
        for command in sorted(commands.keys() - ALLOWED):
            words = words_of(command, commands[command], f"{MINE}:key")
            with pytest.raises(redis.exceptions.ResponseError):
                client.eval("return redis.call(unpack(ARGV))", 0, *words)
    assert server.execute("PING")


@pytest.mark.parametrize(
    "words", [["SCRIPT", "DEBUG", "YES"], ["SCRIPT", "DEBUG", "SYNC"], ["SCRIPT", "KILL"],
              ["SCRIPT", "FLUSH"], ["FUNCTION", "LIST"], ["PUBSUB", "CHANNELS"],
              ["CLIENT", "TRACKING", "ON", "BCAST"], ["CLIENT", "LIST"]], ids=" ".join,
)  # fmt: skip
def test_what_harms_others_is_denied(server: Server, words: list[str]) -> None:
    assert b"ermission" in tried(server, words)


def test_a_script_that_never_ends_can_be_killed(server: Server) -> None:
    with user(server) as client:
        loop = threading.Thread(target=_run_forever, args=(client,))
        loop.start()
        eventually(lambda: _kills(server))
        loop.join(60.0)
        assert not loop.is_alive()
    assert server.execute("PING")


def _run_forever(client: redis.Redis) -> None:
    with pytest.raises(redis.exceptions.ResponseError, match="killed"):
        client.eval("while true do end", 0)


def _kills(server: Server) -> bool:
    try:
        return bool(server.execute("SCRIPT", "KILL"))
    except redis.exceptions.ResponseError:  # it has not begun yet
        return False


def test_the_rule_takes_what_a_user_had_before(server: Server) -> None:
    """Passwords, selectors, keys, channels and commands: it begins with `reset`."""
    rule = acl_rule(MINE).split()
    server.execute("ACL", "SETUSER", "old", *rule, "on", ">secret")
    wanted = server.execute("ACL", "GETUSER", "old")
    had = ["on", "nopass", "~*", "&*", "+@all", "(+@all ~*)"]
    server.execute("ACL", "SETUSER", "old", *had, *rule, "on", ">secret")
    assert server.execute("ACL", "GETUSER", "old") == wanted
    assert rule[0] == "reset"
    server.execute("ACL", "DELUSER", "old")
