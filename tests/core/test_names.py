"""Names become keys: no two meet, none breaks out of its namespace, its unit or its slot."""

import enum
from fnmatch import fnmatchcase

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from redis.crc import key_slot

from holdfast import HoldfastError, InvalidName
from holdfast.core.names import MAX_NAME_BYTES, Namespace, decode_name, encode_name

NAMES = st.text(max_size=MAX_NAME_BYTES // 12)  # a letter takes up to 12 bytes; no surrogates
HARD = [
    "",
    "%",
    "%25",
    "%%",
    "a:b",
    "{a}",
    "}{",
    ":",
    "\x00",
    "\r\n",
    "*",
    "?",
    "[a]",
    "\\",
    " ",
    "é",
]


@given(NAMES)
def test_a_name_comes_back_as_it_was(name: str) -> None:
    assert decode_name(encode_name(name)) == name


@given(NAMES, NAMES)
@example("é", "e\u0301")
@example("a", "A")
@example("", "%")
@example("%3A", ":")
def test_two_names_never_meet(one: str, other: str) -> None:
    assume(one != other)
    assert encode_name(one) != encode_name(other)


@pytest.mark.parametrize("one", HARD)
def test_hard_names_stay_apart(one: str) -> None:
    encoded = [encode_name(name) for name in HARD]
    assert encoded.count(encode_name(one)) == 1


@given(NAMES)
def test_an_encoded_name_holds_nothing_with_a_meaning(name: str) -> None:
    encoded = encode_name(name)
    assert encoded
    assert encoded.isascii()
    assert encoded.isprintable()
    assert not set(encoded) & set(':{}*?[]\\" ')


@pytest.mark.parametrize("name", ["email", "user-7", "a.b_c", "x@y.example", "path/to", "v=1+2,3"])
def test_ordinary_names_stay_readable(name: str) -> None:
    assert encode_name(name) == name


@pytest.mark.parametrize("name", ["\ud800", "a\udfffb", "\udc80" * 3])
def test_half_a_surrogate_pair_is_refused(name: str) -> None:
    """It has no bytes; the message shows it escaped, and where it is."""
    position = next(i for i, letter in enumerate(name) if "\ud800" <= letter <= "\udfff")
    with pytest.raises(InvalidName, match=rf"\\ud.* not valid Unicode at position {position}"):
        encode_name(name)


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("a" * MAX_NAME_BYTES, True),
        ("a" * (MAX_NAME_BYTES + 1), False),
        (":" * (MAX_NAME_BYTES // 3), True),
        (":" * (MAX_NAME_BYTES // 3 + 1), False),
        ("я" * 10_000, False),
    ],
    ids=["longest", "too long", "longest escaped", "too long escaped", "much too long"],
)
def test_the_limit_counts_what_is_stored(name: str, *, fits: bool) -> None:
    if fits:
        assert len(encode_name(name)) <= MAX_NAME_BYTES
        return
    with pytest.raises(InvalidName, match=r"takes [0-9]+ bytes.*, the limit is 512") as caught:
        encode_name(name)
    assert len(str(caught.value)) < 1000
    assert caught.value.name == name


class Room(str, enum.Enum):  # noqa: UP042 (a `StrEnum` shows as its value)
    """Names as applications collect them."""

    LOBBY = "lobby"
    HALL = "hall:1"


@pytest.mark.parametrize("name", Room)
def test_a_name_of_an_enum_is_its_value(name: Room) -> None:
    plain = str(name.value)
    assert Namespace.of(name).prefix == Namespace.of(plain).prefix
    given, expected = (Namespace.of("n").unit("queue", each) for each in (name, plain))
    assert (given.key("x"), given.slot) == (expected.key("x"), expected.slot)


@pytest.mark.parametrize("name", [None, b"email", 5, ["email"]])
def test_only_text_is_a_name(name: object) -> None:
    with pytest.raises(TypeError, match=f"a name must be a str, got {type(name).__name__}"):
        encode_name(name)  # type: ignore[arg-type]


def test_an_invalid_name_is_a_value_error_of_ours() -> None:
    assert issubclass(InvalidName, ValueError)
    assert issubclass(InvalidName, HoldfastError)


@given(NAMES, NAMES, st.sampled_from(["bodies", "ready:h", "ledger:0", "notify:1.2"]))
@example("}", "{", "bodies")
@example("{a}", "}:{", "bodies")
def test_all_keys_of_a_unit_lie_in_its_slot(namespace: str, name: str, part: str) -> None:
    unit = Namespace.of(namespace).unit("queue", name)
    key = unit.key(part)
    assert key_slot(key.encode()) == unit.slot
    assert key[key.index("{") + 1 : key.index("}")] == f"queue:{encode_name(name)}"


UNITS = st.tuples(NAMES, st.sampled_from(["queue", "queues", "lock", "catalog"]), NAMES)


@given(UNITS, UNITS)
@example(("a", "queue", "b"), ("a", "queue", "bc"))
@example(("a", "queue", "b:c"), ("a", "queue", "b"))
@example(("a", "queue", "x"), ("a", "queues", "x"))
@example(("a", "queue", ""), ("a", "queue", "%"))
@example(("a:{queue:b}", "queue", "c"), ("a", "queue", "b"))
def test_the_keys_of_two_units_never_meet(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assume(one != other)
    first = Namespace.of(one[0]).unit(one[1], one[2])
    second = Namespace.of(other[0]).unit(other[1], other[2])
    assert first != second
    assert not first.prefix.startswith(second.prefix)
    assert not second.prefix.startswith(first.prefix)


@given(NAMES, NAMES, NAMES)
@example("shop", "shop2", "q")
@example("*", "anything", "q")
@example("[a-z]", "b", "q")
@example("", "a", "q")
def test_the_glob_of_a_namespace_matches_its_own_keys_only(
    mine: str, theirs: str, name: str
) -> None:
    """An ACL rule `~namespace:*` opens one namespace."""
    glob = Namespace.of(mine).prefix + "*"
    assert fnmatchcase(Namespace.of(mine).unit("queue", name).key("bodies"), glob)
    assume(mine != theirs)
    assert not fnmatchcase(Namespace.of(theirs).unit("queue", name).key("bodies"), glob)


def test_a_unit_says_what_it_is() -> None:
    unit = Namespace.of("shop").unit("queue", "e mail")
    assert str(unit) == "queue 'e mail'"
    assert unit.key("bodies") == "shop:{queue:e%20mail}:bodies"
    assert unit == Namespace.of("shop").unit("queue", "e mail")
    assert hash(unit) == hash(Namespace.of("shop").unit("queue", "e mail"))


@pytest.mark.parametrize("encoded", ["a%FFb", "%C3", "%ZZ", "50%"])
def test_a_key_that_someone_else_made_is_still_shown(encoded: str) -> None:
    """Decoding what `encode_name` never gave raises nothing."""
    assert isinstance(decode_name(encoded), str)
