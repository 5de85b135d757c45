"""What the user of `holdfast acl` may not do: nothing beyond its namespace, no administration."""

from collections.abc import Iterator

import pytest
import redis

from client.bounded import BESIDE_SCRIPTS
from faults.servers import Server
from holdfast import acl_rule
from holdfast.client.acl import DIRECT, SCRIPTED
from project import lua_rules as rules

MINE, THEIRS = "least-mine", "least-theirs"
DENIED = [
    ["GET", f"{THEIRS}:x"],
    ["SET", f"{THEIRS}:x", "1"],
    ["SET", f"{MINE}", "1"],
    ["COPY", f"{MINE}:x", f"{THEIRS}:x"],
    ["SPUBLISH", f"{THEIRS}:x", "1"],
    ["SSUBSCRIBE", f"{THEIRS}:x"],
    ["PSUBSCRIBE", "*"],
    ["KEYS", "*"],
    ["RANDOMKEY"],
    ["SORT", f"{MINE}:x"],
    ["FLUSHALL"],
    ["FLUSHDB"],
    ["SWAPDB", "0", "1"],
    ["CONFIG", "GET", "*"],
    ["CONFIG", "SET", "maxmemory", "1"],
    ["SHUTDOWN", "NOSAVE"],
    ["REPLICAOF", "NO", "ONE"],
    ["CLIENT", "LIST"],
    ["CLIENT", "KILL", "TYPE", "normal"],
    ["MONITOR"],
    ["SCRIPT", "FLUSH"],
    ["SCRIPT", "KILL"],
    ["SCRIPT", "DEBUG", "YES"],
    ["PUBSUB", "CHANNELS"],
    ["CLIENT", "TRACKING", "ON", "BCAST"],
    ["FUNCTION", "FLUSH"],
    ["FUNCTION", "LOAD", "#!lua name=planted\n"],
    ["FUNCTION", "LIST"],
    ["ACL", "LIST"],
    ["ACL", "SETUSER", "mallory", "on", "nopass", "+@all", "~*"],
    ["MODULE", "LIST"],
    ["SAVE"],
    ["MIGRATE", "127.0.0.1", "1", f"{MINE}:x", "0", "1"],
]
"""Commands that would read, change or stop data of others."""


@pytest.fixture(scope="module")
def user(standalone: Server) -> Iterator[redis.Redis]:
    with standalone.client() as admin:
        rule = acl_rule(MINE).split()
        admin.execute_command("ACL", "SETUSER", MINE, *rule, "on", ">secret")
        with redis.Redis(port=standalone.port, username=MINE, password="secret") as user:
            yield user
        admin.execute_command("ACL", "DELUSER", MINE)


@pytest.mark.parametrize("command", DENIED, ids=" ".join)
def test_it_is_denied(user: redis.Redis, command: list[str]) -> None:
    with pytest.raises(redis.exceptions.NoPermissionError):
        user.execute_command(*command)
    with pytest.raises(
        redis.exceptions.ResponseError, match=r"(?i)acl|permission|not allowed|can.t"
    ):
        user.eval("return redis.call(unpack(ARGV))", 0, *command)


def test_what_scripts_run_is_in_the_rule() -> None:
    """A command that a script begins to use belongs there as well."""
    assert {*rules.READS, *rules.WRITES, *rules.KEYLESS} == set(SCRIPTED.upper().split())


def test_what_clients_send_is_in_the_rule() -> None:
    direct = {name.upper().replace("|", " ") for name in f"{DIRECT} {SCRIPTED}".split()}
    assert BESIDE_SCRIPTS - direct == {"CLIENT SETINFO", "HELLO", "PING"}


def test_its_own_is_not(user: redis.Redis) -> None:
    assert user.set(f"{MINE}:x", "1") is True
    assert user.eval("return redis.call('GET', KEYS[1])", 1, f"{MINE}:x") == b"1"
    assert user.delete(f"{MINE}:x") == 1
