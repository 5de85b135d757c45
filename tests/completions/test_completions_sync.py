# Generated from test_completions_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Completions and recent names in one client."""

from typing import Any

import pytest

from holdfast import Completions, DefinitionConflict, Holdfast, InvalidName, Match
from holdfast.core._sync.caller import Caller
from holdfast.core.script import Script


def found(names: Completions, prefix: str, limit: int = 10) -> list[str]:
    return [match.name for match in names.search(prefix, limit=limit)]


def test_adding_searching_and_removing(hf: Holdfast) -> None:
    guild = hf.completions("guild:3")
    assert guild.add_many(["jeff", "jenny", "jack", "jennifer"]) == 4
    assert found(guild, "je") == ["jeff", "jennifer", "jenny"]
    assert guild.remove("jeff") == 1
    assert found(guild, "je") == ["jennifer", "jenny"]
    assert guild.count() == 3
    assert guild.has("jack")
    assert not guild.has("jac")
    assert not guild.has("jeff")


def test_any_script_and_any_character(hf: Holdfast) -> None:
    names = hf.completions("world")
    names.add_many(["张三", "张伟", "àx", "~tilde", "{brace", "42nd", "Émile", "Ωmega", "한글"])
    for prefix, expected in {
        "张": ["张三", "张伟"],
        "{": ["{brace"],
        "4": ["42nd"],
        "é": ["Émile"],
        "E": ["Émile"],
        "ω": ["Ωmega"],
        "하": ["한글"],  # the first letters of the syllable
        "z": [],
    }.items():
        assert found(names, prefix) == expected, prefix


def test_matches_of_later_words_come_last(hf: Holdfast) -> None:
    names = hf.completions("people")
    names.add_many(["Carla Santos", "San Remo San Sano", "sandra", "Zoë Sanders", "Sa"])
    assert found(names, "san") == [
        "San Remo San Sano",
        "sandra",
        "Zoë Sanders",
        "Carla Santos",
    ]
    assert found(names, "san", limit=3) == ["San Remo San Sano", "sandra", "Zoë Sanders"]
    assert found(names, "san", limit=1) == ["San Remo San Sano"]


def test_names_with_many_matching_words(hf: Holdfast) -> None:
    names = hf.completions("people")
    stutter = [f"{n} " + "s " * 14 for n in range(10)]
    names.add_many([*stutter, "t su"])
    assert sorted(found(names, "s", limit=11)) == sorted([*stutter, "t su"])


def test_entries_with_the_same_name_have_different_ids(hf: Holdfast) -> None:
    names = hf.completions("people")
    assert names.add("Jo Li", id="1")
    assert names.add("Jo Li", id="12")
    assert names.add("Jo Li")
    assert not names.add("Jo Li", id="12")
    assert names.search("li") == [Match("Jo Li"), Match("Jo Li", "1"), Match("Jo Li", "12")]
    assert names.count() == 3
    assert names.remove("Jo Li", id="1") == 1
    assert names.remove("Jo Li", id="1") == 0
    assert names.remove("jo li") == 0  # another spelling
    assert names.remove("Jo Li") == 2
    assert (names.search(""), names.count()) == ([], 0)


def test_removing_a_thousand_entries_with_the_same_name(hf: Holdfast) -> None:
    names = hf.completions("people")
    assert names.add_many((("Jo", str(n)) for n in range(1000)), progress=None) == 1000
    assert names.add("Joanna")
    assert names.remove("Jo") == 1000
    assert names.search("") == [Match("Joanna")]


def test_progress_is_reported(hf: Holdfast) -> None:
    reported: list[int] = []
    names = hf.completions("many")
    assert names.add_many((f"name {n}" for n in range(250)), progress=reported.append) == 250
    assert reported == [100, 200, 250]
    assert names.add_many(["name 7", "name 777"]) == 1


def test_wrong_arguments(hf: Holdfast) -> None:
    names = hf.completions("strict")
    for name in ("", "a\0b", "\ud800", "x" * 513):
        with pytest.raises(InvalidName):
            names.add(name)
        with pytest.raises(InvalidName):
            names.remove(name)
    for id_ in ("", "a\0b", "\ud800", "x" * 513):
        with pytest.raises(InvalidName):
            names.add("x", id=id_)
        with pytest.raises(InvalidName):
            names.remove("x", id=id_)
    with pytest.raises(TypeError, match="an id must be a str, got int"):
        names.add("x", id=0)  # type: ignore[arg-type]
    for wrong in (("x",), ("x", "1", "2"), 5, None):
        with pytest.raises(TypeError, match="pairs of a name and its id, got"):
            names.add_many(["y", wrong])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="add_many takes several names"):
        names.add_many("jeff")
    for limit in (0, -1, 1001):
        with pytest.raises(ValueError, match="limit must be 1 to 1,000"):
            names.search("x", limit=limit)
    with pytest.raises(InvalidName, match="holds a NUL"):
        names.search("a\0")
    assert names.search("x" * 512) == []
    assert names.count() == 0


def test_recent_names(hf: Holdfast) -> None:
    """The latest name comes first, each name once, and no more than the limit are kept."""
    recent = hf.recent("player:7", limit=3)
    for name in ("Abe", "Bob", "Éva", "abby", "Bob"):
        recent.touch(name)
    assert recent.all() == ["Bob", "abby", "Éva"]
    assert recent.match("É") == ["Éva"]
    assert recent.match("A") == ["abby"]
    assert recent.match("", limit=2) == ["Bob", "abby"]
    assert recent.remove("abby")
    assert not recent.remove("abby")
    assert recent.all() == ["Bob", "Éva"]


def test_the_server_keeps_the_limit_of_recent_names(hf: Holdfast) -> None:
    hf.recent("p", limit=2).touch("a")
    with pytest.raises(DefinitionConflict, match="the limit of recent 'p' is 2, not 5"):
        hf.recent("p", limit=5, on_conflict="error").touch("b")
    plain = hf.recent("p")
    for name in ("b", "c", "d"):
        plain.touch(name)
    assert plain.all() == ["d", "c"]
    plain.redefine(limit=1)
    assert plain.all() == ["d"]
    for limit in (0, 1001):
        with pytest.raises(ValueError, match="limit must be"):
            hf.recent("p", limit=limit)


def test_the_default_limit_is_one_hundred(hf: Holdfast) -> None:
    recent = hf.recent("p")
    for n in range(103):
        recent.touch(str(n))
    assert len(recent.all()) == 100


def test_known_completions(hf: Holdfast) -> None:
    assert hf.known_completions() == []
    hf.completions("guild:3").add("jeff")
    hf.completions("guild:4").add_many(["jack"])
    hf.completions("guild:5").search("je")
    assert sorted(hf.known_completions()) == ["guild:3", "guild:4"]


def test_a_prefix_of_many_names_needs_no_script(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first search with a prefix shows it; a wrong prediction costs only a call."""
    scripts: list[str] = []
    whole = Caller.call

    def counted(self: Caller, script: Script, *args: Any, **options: Any) -> Any:
        scripts.append(script.name)
        return whole(self, script, *args, **options)

    names = hf.completions("guild")
    names.add_many([*(f"ann {n}" for n in range(9)), "bob ann"])
    first, every = [f"ann {n}" for n in range(3)], [*(f"ann {n}" for n in range(9)), "bob ann"]
    assert found(names, "ann", limit=3) == first
    monkeypatch.setattr(Caller, "call", counted)
    assert found(names, "ann", limit=3) == first
    assert found(names, "an", limit=3) == first
    assert scripts == []
    assert found(names, "bo", limit=3) == ["bob ann"]
    assert found(names, "ann", limit=10) == every
    assert found(names, "a", limit=3) == first
    assert scripts == ["completions/search"] * 2
    for n in range(8):
        names.remove(f"ann {n}")
    assert found(names, "a", limit=3) == ["ann 8", "bob ann"]
