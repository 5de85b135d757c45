"""The usual reservation takes a shorter path, which leaves the same state as the general one."""

import random
import secrets

import pytest
import redis

from faults.servers import Server
from holdfast.core.script import Script
from holdfast.limits.costs import new_mark

RESERVE = Script.load("holdfast.limits", "reserve")
SOURCE = RESERVE.source.replace("redis.call('TIME')", "redis.call('LRANGE', 'now', 0, 1)")
GENERAL, USUAL = 0, ""
"""The age of an operation: only a new one takes the short path."""

TAG = 7


class Subjects:
    """Two subjects with the same operations at the same instants."""

    def __init__(self, client: redis.Redis, amount: int, per_ms: int) -> None:
        self.client = client
        self.limit = (TAG, amount, per_ms)
        self.now_ms = 10**12
        self.names = (f"usual:{secrets.token_hex(4)}", f"general:{secrets.token_hex(4)}")

    def reserve(self, cost: int, longest: str) -> None:
        seconds, ms = divmod(self.now_ms, 1000)
        self.client.delete("now")
        self.client.rpush("now", seconds, ms * 1000)
        mark = new_mark()
        pipe = self.client.pipeline(transaction=True)  # The real time must not end their lives.
        for name, age in zip(self.names, (USUAL, GENERAL), strict=True):
            pipe.eval(SOURCE, 1, name, mark, longest, age, *self.limit, cost)
            pipe.get(name)
            pipe.pttl(name)
            pipe.persist(name)
        usual, general = zip(*[iter(pipe.execute())] * 4, strict=True)
        assert usual[:2] == general[:2]
        assert abs(usual[2] - general[2]) <= 100 or -1 in (usual[2], general[2])


@pytest.mark.parametrize(("amount", "per_ms"), [(20, 100), (300, 1000), (10**9, 60_000)])
def test_both_paths_agree(standalone: Server, seed: int, amount: int, per_ms: int) -> None:
    dice, client = random.Random(seed), standalone.client()
    subjects = Subjects(client, amount, per_ms)
    for _ in range(200):
        subjects.now_ms += dice.choice([0, 0, 1, 1, 3, per_ms // 50, -2, per_ms])
        subjects.reserve(dice.choice([0, 1, 1, 1, 5]), dice.choice(["", "0"]))
    subjects.now_ms += per_ms
    for _ in range(150):  # many instants: entries are merged
        subjects.now_ms += dice.choice([0, 1, 1, 2])
        subjects.reserve(1, "0")
    client.close()


@pytest.mark.parametrize("length", [*range(0, 40, 3), 60, 200])
def test_a_damaged_state_is_reported(standalone: Server, length: int) -> None:
    client = standalone.client()
    subjects = Subjects(client, 10**6, 60_000)
    for _ in range(3):
        subjects.now_ms += 5
        subjects.reserve(1, "")
    name = subjects.names[0]
    whole = client.get(name)
    assert whole
    for broken in (whole[:length], whole + b"x" * (length + 1)):
        if broken == whole:
            continue
        client.set(name, broken)
        with pytest.raises(redis.ResponseError, match="DAMAGED"):
            client.eval(SOURCE, 1, name, new_mark(), "", "", *subjects.limit, 1)
    client.close()
