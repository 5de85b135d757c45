"""The rule about commands bites."""

import pytest

from client.bounded import problem


@pytest.mark.parametrize(
    "command",
    [
        "KEYS *",
        "SCAN 0",
        "FLUSHALL",
        "CONFIG GET save",
        "CLIENT LIST",
        "SMEMBERS ns:{feed:logs}:x",
        "HKEYS ns:{feed:logs}:consumers",
        "HGETALL ns:{queue:work}:bodies",
        "HGETALL ns:{counter:feed:x}:consumers",
        "LRANGE ns:{queue:work}:ready:m 0 -1",
        "LRANGE ns:{queue:work}:ready:m 0 99999",
        "ZRANGE ns:{queue:work}:due:m 0 -1 WITHSCORES",
        "zrange ns:{queue:work}:due:m 0 -1 WITHSCORES",
        "ZRANGE ns:{queue:work}:due:m -inf +inf BYSCORE LIMIT 0 -1",
        "XRANGE ns:{mailbox:jack}:log - +",
        "XREVRANGE ns:{mailbox:jack}:log + - COUNT 100000",
        "ZREMRANGEBYSCORE ns:{queue:work}:dead -inf +inf",
    ],
)
def test_what_has_no_bound_is_found(command: str) -> None:
    assert problem(command.split(" "))


@pytest.mark.parametrize(
    "command",
    [
        "HGETALL ns:{counter:hits}:60:1",
        "LRANGE ns:{queue:work}:ready:m 0 99",
        "ZRANGE ns:{semaphore:s}:wait_queue -1 -1",
        "ZRANGE ns:{queue:work}:due:m -inf +inf BYSCORE LIMIT 0 64",
        "XRANGE ns:{mailbox:jack}:log 1 + COUNT 16",
        "ZREMRANGEBYSCORE ns:{catalog:queue}:names -inf 1",
        "CLIENT SETINFO LIB-NAME holdfast",
    ],
)
def test_what_has_one_is_not(command: str) -> None:
    assert problem(command.split(" ")) == ""
