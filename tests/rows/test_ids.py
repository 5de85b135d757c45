"""Ids of rows, hostile sources, and shards."""

import secrets
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from faults.clusters import Cluster
from faults.hostile import KINDS
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, InvalidName, LoadFailed, OutcomeUnknown, ServerUnavailable
from holdfast.rows.row_ids import id_of, member_of, shard_of
from rows.table import Table

# Ids as JSON

PARTS = st.integers(-(2**63), 2**63 - 1) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40
)
IDS = PARTS | st.lists(PARTS, min_size=1, max_size=4).map(tuple)


@given(IDS, IDS)
def test_two_ids_never_meet(one: Any, other: Any) -> None:
    assert (member_of(one) == member_of(other)) is (one == other)
    assert id_of(member_of(one)) == one
    assert 0 <= shard_of(member_of(one), 7) < 7


def test_what_an_id_looks_like() -> None:
    assert [member_of(i) for i in (1, "1", ("eu", 7), (1,), "ü")] == [
        "1",
        '"1"',
        '["eu",7]',
        "[1]",
        '"ü"',
    ]
    assert [shard_of(member_of(i), 16) for i in (1, "1", 42)] == [7, 10, 8]


class Text(str):
    """A text that templates use, for example."""

    __slots__ = ()


class Number(int):
    """A number with a unit, for example."""


class Shop(StrEnum):
    """An enumeration."""

    EUROPE = "eu"


def test_subclasses_are_the_same_ids() -> None:
    assert member_of(Text("eu")) == member_of(Shop.EUROPE) == member_of("eu")
    assert member_of(Number(7)) == member_of(7)
    assert member_of((Text("eu"), Number(7))) == member_of((Shop.EUROPE, 7)) == '["eu",7]'


@pytest.mark.parametrize("wrong", [True, None, 1.0, b"1", [1], {1}, (1, None), ((1,),), (True,)])
def test_what_is_no_id(wrong: Any) -> None:
    with pytest.raises(TypeError, match="an id is an int, a str or a tuple"):
        member_of(wrong)


@pytest.mark.parametrize("wrong", ["a\0b", 2**63, -(2**63) - 1, (2**64,), ("\0",), (), (1,) * 17])
def test_ids_that_no_database_has(wrong: Any) -> None:
    with pytest.raises(ValueError, match="an id"):
        member_of(wrong)


@pytest.mark.parametrize("wrong", ["a" * 511, ("a" * 300, "b" * 300), "\ud800"])
def test_ids_that_cannot_be_kept(wrong: Any) -> None:
    with pytest.raises(InvalidName):
        member_of(wrong)


# For every error of a source, readers get `LoadFailed` and the refresher continues

ORDINARY = sorted(
    kind for kind in KINDS if issubclass(type(KINDS[kind]()), Exception) and kind != "TimeoutError"
)


class Source:
    """A source of rows that cannot load row 1."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def load(self, ids: Sequence[int]) -> dict[int, str]:
        if 1 in ids:
            raise KINDS[self._kind]()  # noqa: RSE102 (some are functions)
        return dict.fromkeys(ids, "row")


@pytest.mark.parametrize("kind", ORDINARY)
def test_a_source_may_raise_whatever_it_likes(standalone: Server, kind: str) -> None:
    """The other rows are loaded; the reason is short and readable."""
    with Holdfast.from_url(standalone.url, namespace=f"hostile-{secrets.token_hex(4)}") as hf:
        cache = hf.row_cache("stock", source=Source(kind))
        with pytest.raises(LoadFailed) as caught:
            cache.get(1, timeout=10.0)
        assert len(str(caught.value)) < 1000
        assert cache.get(2, timeout=10.0).value == "row"
        cache.schedule_many({1: 60.0, 2: 60.0})
        assert cache.refresh_due().failed == 1


# Caches of several shards, and those who may only read


@pytest.mark.parametrize(("shards", "limit"), [(3, 500), (7, 10), (16, 4), (5, 1)])
def test_a_limit_is_that_of_all_shards(hf: Holdfast, shards: int, limit: int) -> None:
    table = Table({n: {"n": n} for n in range(2 * limit + 50)})
    cache = hf.row_cache("stock", source=table, shards=shards)
    cache.schedule_many(dict.fromkeys(table.rows, 100_000))
    while cache.refresh_due(limit=limit).next_due == 0:
        pass
    assert max(map(len, table.asked)) <= limit
    assert sorted(n for asked in table.asked for n in asked) == list(table.rows)


def test_shards_lie_in_slots_of_their_own(cluster: Cluster) -> None:
    namespace = secrets.token_hex(4)
    with Holdfast.from_url(cluster.url, namespace=namespace) as hf:
        cache = hf.row_cache("stock", source=Table({n: {"n": n} for n in range(50)}), shards=2)
        assert len(cache.get_many(range(50))) == 50
    with cluster.client() as client:
        rows = [key for key in client.scan_iter(f"{namespace}:*") if b":row:" in key]
        assert len(rows) == 50
        assert len(set(map(key_slot, rows))) == 2
        assert len({client.get_node_from_key(key).name for key in rows}) == 2


def test_a_user_who_may_not_write(standalone: Server) -> None:
    namespace = f"read-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        hf.row_cache("stock", source=Table({1: {"n": 1}}), shards=2).get(1)
    rule = f"resetkeys ~{namespace}:* -@all +@read +@scripting +@connection +time"
    standalone.execute("ACL", "SETUSER", namespace, "on", ">secret", *rule.split())
    url = standalone.url.replace("://", f"://{namespace}:secret@")
    with Holdfast.from_url(url, namespace=namespace) as reader:
        cache = reader.row_cache("stock")
        assert cache.get(1).value == {"n": 1}
        assert {n: row.state for n, row in cache.get_many([1, 2]).items()} == {
            1: "fresh",
            2: "uncached",
        }
        assert cache.explain(1).state == "fresh"
        assert cache.status().scheduled == 0
    standalone.execute("ACL", "DELUSER", namespace)


def test_a_replica(fresh_server: Server) -> None:
    with Server() as replica, Holdfast.from_url(fresh_server.url) as hf:
        host, port = fresh_server.address
        replica.execute("REPLICAOF", host, port)
        hf.row_cache("stock", source=Table({1: {"n": 1}})).get(1)
        with Holdfast.from_url(f"{replica.url}?socket_timeout=60") as reader:
            eventually(lambda: reader.row_cache("stock").get(1).value == {"n": 1})


def test_what_is_applied_in_part(standalone: Server) -> None:
    namespace = f"part-{secrets.token_hex(4)}"
    keys = ("rows:stock/0", "row_cache:stock", "catalog:row_cache")
    half = " ".join(["resetkeys &* +@all", *(f"~{namespace}:{{{key}}}*" for key in keys)])
    with standalone.client() as admin:
        admin.execute_command("ACL", "SETUSER", namespace, "on", ">secret", *half.split())
        url = standalone.url.replace("://", f"://{namespace}:secret@")
        with Holdfast.from_url(url, namespace=namespace) as hf:
            cache = hf.row_cache("stock", shards=2)
            with pytest.raises(
                OutcomeUnknown, match=r"1 of 2 steps are done, then .*permissions"
            ) as lost:
                cache.schedule_many(dict.fromkeys(range(20), 1000))
            admin.execute_command("ACL", "SETUSER", namespace, f"~{namespace}:*")
            lost.value.repeat()
            assert cache.status().scheduled == 20
            admin.execute_command("ACL", "SETUSER", namespace, *half.split())
            row_id = next(n for n in range(20) if shard_of(member_of(n), 2) == 1)
            with pytest.raises(ServerUnavailable):
                cache.schedule(row_id, every=0)
            good = next(n for n in range(20) if shard_of(member_of(n), 2) == 0)
            with pytest.raises(OutcomeUnknown, match="1 rows are scheduled, then"):
                cache.schedule_many({good: 500, row_id: 0})
        admin.execute_command("ACL", "DELUSER", namespace)
