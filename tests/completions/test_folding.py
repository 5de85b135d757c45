"""How names are folded, and where they stand in the index."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import InvalidName
from holdfast.completions.folding import MAX_WORDS, checked_name, folded, later_words, places


@pytest.mark.parametrize(
    ("text", "fold"),
    [
        ("Jeff", "jeff"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("É", "e\u0301"),
        ("ﬁ", "fi"),
    ],
)
def test_what_a_search_overlooks(text: str, fold: str) -> None:
    assert folded(text) == fold


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Jeff", []),
        ("Carla Santos", ["santos"]),
        ("  two  blanks ", ["two  blanks ", "blanks "]),
        ("o'brien-smith", ["brien-smith", "smith"]),
        ("Zoë Émile", ["e\u0301mile"]),  # an accent ends no word
        ("张 伟", ["伟"]),
        ("{x} 7up", ["x} 7up", "7up"]),
    ],
)
def test_words_begin_after_what_is_neither_letter_nor_digit(name: str, words: list[str]) -> None:
    assert list(later_words(folded(name))) == words


@given(st.text(max_size=60))
def test_a_name_never_stands_in_more_places_than_the_search_expects(name: str) -> None:
    stands = places(name)
    assert len(stands) == len(set(stands)) <= MAX_WORDS


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 513, "ﷺ" * 170])
def test_names_that_cannot_be_kept(name: str) -> None:
    with pytest.raises(InvalidName):
        checked_name(name)


def test_a_name_is_a_string() -> None:
    """Bytes have no letters, and nothing is no empty name."""
    for wrong, kind in ((b"x", "bytes"), (b"", "bytes"), (None, "NoneType"), (0, "int")):
        with pytest.raises(TypeError, match=f"a name must be a str, got {kind}"):
            checked_name(wrong)  # type: ignore[arg-type]


def test_an_accent_is_overlooked_at_the_end_only() -> None:
    """A letter that is typed alone finds those with accents; one in the midst is itself."""
    name = folded("Éclair")
    assert [name.startswith(folded(typed)) for typed in ("e", "É", "écl", "ecl")] == [1, 1, 1, 0]
