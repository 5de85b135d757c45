"""The slot map of a cluster, as one of its nodes reports it."""

from typing import Any

import pytest

from holdfast.core.transport.settings import Address
from holdfast.core.transport.slots import SLOTS, SlotMap

ASKED = ("asked", 7000)
THREE = [
    [0, 5460, [b"a", 7001, b"id-a", []], [b"a2", 7101, b"id-a2", []]],
    [5461, 10922, [b"b", 7002, b"id-b", []]],
    [10923, 16383, [b"c", 7003, b"id-c", []]],
]


def parsed(reply: Any, remap: Any = None) -> SlotMap:
    return SlotMap.parse(reply, ASKED, remap)


@pytest.mark.parametrize(
    ("slot", "owner"),
    [
        (0, ("a", 7001)),
        (5460, ("a", 7001)),
        (5461, ("b", 7002)),
        (10922, ("b", 7002)),
        (10923, ("c", 7003)),
        (16383, ("c", 7003)),
    ],
)
def test_ranges_hold_both_their_ends(slot: int, owner: Address) -> None:
    assert parsed(THREE).owner(slot) == owner


def test_only_primaries_are_nodes() -> None:
    """Replicas answer no writes; each primary is there once, however many ranges it has."""
    pieces = [*THREE, [0, 0, [b"c", 7003, b"id-c", []]]]
    assert parsed(pieces).nodes == (("a", 7001), ("b", 7002), ("c", 7003))


def test_every_slot_has_its_owner() -> None:
    slots = parsed(THREE)
    assert all(slots.owner(slot) for slot in range(SLOTS))
    with pytest.raises(IndexError):
        slots.owner(SLOTS)


def test_an_unassigned_slot_has_no_owner() -> None:
    slots = parsed([THREE[1]])
    assert slots.owner(0) is None
    assert slots.owner(16383) is None
    assert parsed([]).nodes == ()


@pytest.mark.parametrize("unknown", [b"", None, b"?"])
def test_an_unknown_host_is_the_one_that_was_asked(unknown: bytes | None) -> None:
    """A node that does not know its own address leaves it out; its port stands."""
    assert parsed([[0, 16383, [unknown, 7009, b"id", []]]]).owner(5) == ("asked", 7009)


def test_addresses_are_those_that_can_be_reached_from_here() -> None:
    """The user's function is asked, also for the node that left its host out."""
    slots = parsed(
        [[0, 9, [b"inside", 1, b"id", []]], [10, 19, [b"", 2, b"id", []]]],
        lambda address: (f"outside-of-{address[0]}", address[1] + 100),
    )
    assert slots.owner(0) == ("outside-of-inside", 101)
    assert slots.owner(10) == ("outside-of-asked", 102)
    assert slots.nodes == (("outside-of-inside", 101), ("outside-of-asked", 102))


def test_a_moved_slot_is_learned_alone() -> None:
    """Its neighbours stay; a new node is remembered, a known one is not doubled."""
    slots = parsed(THREE)
    slots.moved(100, ("d", 7004))
    slots.moved(101, ("b", 7002))
    assert [slots.owner(slot) for slot in (99, 100, 101, 102)] == [
        ("a", 7001),
        ("d", 7004),
        ("b", 7002),
        ("a", 7001),
    ]
    assert slots.nodes == (("a", 7001), ("b", 7002), ("c", 7003), ("d", 7004))
