"""Completions do as a plain Python list does, for arbitrary names."""

import secrets
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults.servers import Server
from holdfast import Holdfast, Match
from holdfast.completions.folding import folded, later_words

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.one_of(
    st.text(LETTERS, min_size=1, max_size=12),
    st.text("aAbBäÄ é{}~\xff\U0010ffff", min_size=1, max_size=8),
)
ENTRIES = st.tuples(NAMES, st.sampled_from([None, "1", "12"]))


@pytest.fixture(scope="module")
def hf() -> Iterator[Holdfast]:
    with Server() as server, Holdfast.from_url(server.url) as hf:
        yield hf


def expected(entries: set[tuple[str, str | None]], prefix: str) -> tuple[set[Match], set[Match]]:
    """Which begin so, and of which only a later word does."""
    start = folded(prefix)
    whole = {Match(*entry) for entry in entries if folded(entry[0]).startswith(start)}
    words = {
        Match(name, id_)
        for name, id_ in entries
        if any(rest.startswith(start) for rest in later_words(folded(name)))
    }
    return whole, words - whole


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_it_finds_what_a_list_would(hf: Holdfast, data: st.DataObject) -> None:
    """Whole names first, both parts in the order of their folded forms."""
    names = hf.completions(secrets.token_hex(4))
    kept = set(data.draw(st.sets(ENTRIES, max_size=12)))
    assert names.add_many(kept) == len(kept)
    for name, id_ in sorted(kept, key=repr)[: data.draw(st.integers(0, 3))]:
        gone = {each for each in kept if each[0] == name and id_ in (None, each[1])}
        assert names.remove(name, id=id_) == len(gone)
        kept -= gone
    assert names.count() == len(kept)
    drawn = [name for name, _ in kept]
    prefixes = ["", *data.draw(st.lists(NAMES, max_size=3)), *(name[:1] for name in drawn), *drawn]
    for prefix in prefixes:
        whole, words = expected(kept, prefix)
        found = names.search(prefix, limit=1000)
        assert set(found[: len(whole)]) == whole
        assert set(found[len(whole) :]) == words
        assert len(found) == len(whole) + len(words)
        keys = [folded(match.name).encode() for match in found[: len(whole)]]
        assert keys == sorted(keys)
        assert names.search(prefix, limit=2) == found[:2]
