"""Ids as JSON."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import InvalidName
from holdfast.rows.ids import id_of, member_of, shard_of

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
