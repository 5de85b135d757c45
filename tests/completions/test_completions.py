"""Completions: folding, access rights, replicas, concurrency, and a model."""

import random
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, InvalidName, Match, OutcomeUnknown, ServerUnavailable
from holdfast.completions.checks import checked_name
from holdfast.completions.folding import MAX_WORDS, folded, index_prefixes, later_words

# Folding, and the members of the index


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
def test_folding(text: str, fold: str) -> None:
    assert folded(text) == fold


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Jeff", []),
        ("Carla Santos", ["santos"]),
        ("  two  blanks ", ["two  blanks ", "blanks "]),
        ("o'brien-smith", ["brien-smith", "smith"]),
        ("Zoë Émile", ["e\u0301mile"]),  # an accent does not end a word
        ("张 伟", ["伟"]),
        ("{x} 7up", ["x} 7up", "7up"]),
    ],
)
def test_a_word_begins_after_a_character_that_is_no_letter_or_digit(
    name: str, words: list[str]
) -> None:
    assert list(later_words(folded(name))) == words


@given(st.text(max_size=60))
def test_a_name_has_no_more_index_members_than_the_search_expects(name: str) -> None:
    prefixes = index_prefixes(name)
    assert len(prefixes) == len(set(prefixes)) <= MAX_WORDS


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 513, "ﷺ" * 170])
def test_names_that_cannot_be_stored(name: str) -> None:
    with pytest.raises(InvalidName):
        checked_name(name)


@pytest.mark.parametrize("name", [b"x", b"", None, 0])
def test_a_name_must_be_a_str(name: Any) -> None:
    with pytest.raises(TypeError, match=f"a name must be a str, got {type(name).__name__}"):
        checked_name(name)


def test_a_missing_accent_matches_only_at_the_end_of_the_prefix() -> None:
    name = folded("Éclair")
    assert [name.startswith(folded(typed)) for typed in ("e", "É", "écl", "ecl")] == [1, 1, 1, 0]


# Reading writes nothing, and concurrent clients do not disturb each other


def test_a_read_only_user(standalone: Server) -> None:
    namespace = f"read-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        hf.completions("g").add("jeff")
        hf.recent("p").touch("jill")
    rule = f"resetkeys ~{namespace}:* -@all +@read +@scripting +@connection +time"
    standalone.execute("ACL", "SETUSER", namespace, "on", ">secret", *rule.split())
    url = standalone.url.replace("://", f"://{namespace}:secret@")
    with Holdfast.from_url(url, namespace=namespace) as reader:
        names = reader.completions("g")
        assert [match.name for match in names.search("j")] == ["jeff"]
        assert names.has("jeff")
        assert names.count() == 1
        assert reader.recent("p").match("J") == ["jill"]
        with pytest.raises(OutcomeUnknown, match=r"no permissions to run the 'zadd'|can't run"):
            names.add("x")
        assert names.count() == 1
    standalone.execute("ACL", "DELUSER", namespace)


def test_a_removal_that_fails_half_way_can_be_repeated(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = f"part-{secrets.token_hex(4)}"
    user = ("ACL", "SETUSER", namespace, "on", ">secret", "+@all", f"~{namespace}:*")
    standalone.execute(*user)
    url = standalone.url.replace("://", f"://{namespace}:secret@")
    with Holdfast.from_url(url, namespace=namespace) as hf:
        names = hf.completions("g")
        names.add_many(("Jo", str(n)) for n in range(1500))
        caller = names._caller
        call, calls = caller.call, []

        def counted(*args: Any, **options: Any) -> Any:
            calls.append(args)
            if len(calls) == 2:
                standalone.execute("ACL", "SETUSER", namespace, "resetkeys")
            return call(*args, **options)

        monkeypatch.setattr(caller, "call", counted)
        with pytest.raises(OutcomeUnknown, match="1,000 entries are gone, then") as lost:
            names.remove("Jo")
        standalone.execute(*user)
        assert lost.value.repeat() == 1500
        assert names.count() == 0
    standalone.execute("ACL", "DELUSER", namespace)


def test_a_replica(fresh_server: Server) -> None:
    """A replica finds what its primary has, and refuses writes."""
    with Server() as replica, Holdfast.from_url(fresh_server.url) as hf:
        host, port = fresh_server.address
        replica.execute("REPLICAOF", host, port)
        hf.completions("g").add("jeff")
        with Holdfast.from_url(f"{replica.url}?socket_timeout=60") as reader:
            eventually(lambda: [match.name for match in reader.completions("g").search("J")])
        with (
            Holdfast.from_url(f"{replica.url}?socket_timeout=1") as writer,
            pytest.raises(ServerUnavailable, match="READONLY"),
        ):
            writer.completions("g").add("jenny")


def test_sixteen_clients_at_once(standalone: Server, seed: int) -> None:
    namespace = f"crowd-{secrets.token_hex(4)}"

    def client(number: int) -> None:
        dice = random.Random(f"{seed} {number}")
        mine: set[str] = set()
        url = f"{standalone.url}?socket_timeout=60"
        with Holdfast.from_url(url, namespace=namespace) as hf:
            names = hf.completions("g")
            for _ in range(40):
                name = f"{number}-{dice.randrange(20)} word"
                if name in mine and dice.random() < 0.5:
                    assert names.remove(name) == 1
                    mine.remove(name)
                else:
                    assert names.add(name) == (name not in mine)
                    mine.add(name)
                found = {match.name for match in names.search(f"{number}-", limit=1000)}
                assert {each for each in found if each.startswith(f"{number}-")} == mine

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(client, range(16)))
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        names = hf.completions("g")
        assert len(names.search("", limit=1000)) == names.count()


# A plain Python list as the model, for arbitrary names

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
    start = folded(prefix)
    whole = {Match(*entry) for entry in entries if folded(entry[0]).startswith(start)}
    words = {
        Match(name, id_)
        for name, id_ in entries
        if any(rest.startswith(start) for rest in later_words(folded(name)))
    }
    return whole, words - whole


@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_search_finds_what_the_model_finds(hf: Holdfast, data: st.DataObject) -> None:
    """Matches of the whole name come first; each group is ordered by the folded names."""
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
        for _ in range(2):  # the second one may need no script
            assert names.search(prefix, limit=2) == found[:2]
