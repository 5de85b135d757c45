"""Completions and recent names in one client."""

from typing import Any

import pytest

from holdfast import AsyncCompletions, AsyncHoldfast, DefinitionConflict, InvalidName, Match
from holdfast.core._async.caller import AsyncCaller
from holdfast.core.script import Script


async def found(names: AsyncCompletions, prefix: str, limit: int = 10) -> list[str]:
    return [match.name for match in await names.search(prefix, limit=limit)]


async def test_adding_searching_and_removing(hf: AsyncHoldfast) -> None:
    guild = hf.completions("guild:3")
    assert await guild.add_many(["jeff", "jenny", "jack", "jennifer"]) == 4
    assert await found(guild, "je") == ["jeff", "jennifer", "jenny"]
    assert await guild.remove("jeff") == 1
    assert await found(guild, "je") == ["jennifer", "jenny"]
    assert await guild.count() == 3
    assert await guild.has("jack")
    assert not await guild.has("jac")
    assert not await guild.has("jeff")


async def test_any_script_and_any_character(hf: AsyncHoldfast) -> None:
    names = hf.completions("world")
    await names.add_many(
        ["张三", "张伟", "àx", "~tilde", "{brace", "42nd", "Émile", "Ωmega", "한글"]
    )
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
        assert await found(names, prefix) == expected, prefix


async def test_matches_of_later_words_come_last(hf: AsyncHoldfast) -> None:
    names = hf.completions("people")
    await names.add_many(["Carla Santos", "San Remo San Sano", "sandra", "Zoë Sanders", "Sa"])
    assert await found(names, "san") == [
        "San Remo San Sano",
        "sandra",
        "Zoë Sanders",
        "Carla Santos",
    ]
    assert await found(names, "san", limit=3) == ["San Remo San Sano", "sandra", "Zoë Sanders"]
    assert await found(names, "san", limit=1) == ["San Remo San Sano"]


async def test_names_with_many_matching_words(hf: AsyncHoldfast) -> None:
    names = hf.completions("people")
    stutter = [f"{n} " + "s " * 14 for n in range(10)]
    await names.add_many([*stutter, "t su"])
    assert sorted(await found(names, "s", limit=11)) == sorted([*stutter, "t su"])


async def test_entries_with_the_same_name_have_different_ids(hf: AsyncHoldfast) -> None:
    names = hf.completions("people")
    assert await names.add("Jo Li", id="1")
    assert await names.add("Jo Li", id="12")
    assert await names.add("Jo Li")
    assert not await names.add("Jo Li", id="12")
    assert await names.search("li") == [Match("Jo Li"), Match("Jo Li", "1"), Match("Jo Li", "12")]
    assert await names.count() == 3
    assert await names.remove("Jo Li", id="1") == 1
    assert await names.remove("Jo Li", id="1") == 0
    assert await names.remove("jo li") == 0  # another spelling
    assert await names.remove("Jo Li") == 2
    assert (await names.search(""), await names.count()) == ([], 0)


async def test_removing_a_thousand_entries_with_the_same_name(hf: AsyncHoldfast) -> None:
    names = hf.completions("people")
    assert await names.add_many((("Jo", str(n)) for n in range(1000)), progress=None) == 1000
    assert await names.add("Joanna")
    assert await names.remove("Jo") == 1000
    assert await names.search("") == [Match("Joanna")]


async def test_progress_is_reported(hf: AsyncHoldfast) -> None:
    reported: list[int] = []
    names = hf.completions("many")
    assert await names.add_many((f"name {n}" for n in range(250)), progress=reported.append) == 250
    assert reported == [100, 200, 250]
    assert await names.add_many(["name 7", "name 777"]) == 1


async def test_wrong_arguments(hf: AsyncHoldfast) -> None:
    names = hf.completions("strict")
    for name in ("", "a\0b", "\ud800", "x" * 513):
        with pytest.raises(InvalidName):
            await names.add(name)
        with pytest.raises(InvalidName):
            await names.remove(name)
    for id_ in ("", "a\0b", "\ud800", "x" * 513):
        with pytest.raises(InvalidName):
            await names.add("x", id=id_)
        with pytest.raises(InvalidName):
            await names.remove("x", id=id_)
    with pytest.raises(TypeError, match="an id must be a str, got int"):
        await names.add("x", id=0)  # type: ignore[arg-type]
    for wrong in (("x",), ("x", "1", "2"), 5, None):
        with pytest.raises(TypeError, match="pairs of a name and its id, got"):
            await names.add_many(["y", wrong])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="add_many takes several names"):
        await names.add_many("jeff")
    for limit in (0, -1, 1001):
        with pytest.raises(ValueError, match="limit must be 1 to 1,000"):
            await names.search("x", limit=limit)
    with pytest.raises(InvalidName, match="holds a NUL"):
        await names.search("a\0")
    assert await names.search("x" * 512) == []
    assert await names.count() == 0


async def test_recent_names(hf: AsyncHoldfast) -> None:
    """The latest name comes first, each name once, and no more than the limit are kept."""
    recent = hf.recent("player:7", limit=3)
    for name in ("Abe", "Bob", "Éva", "abby", "Bob"):
        await recent.touch(name)
    assert await recent.all() == ["Bob", "abby", "Éva"]
    assert await recent.match("É") == ["Éva"]
    assert await recent.match("A") == ["abby"]
    assert await recent.match("", limit=2) == ["Bob", "abby"]
    assert await recent.remove("abby")
    assert not await recent.remove("abby")
    assert await recent.all() == ["Bob", "Éva"]


async def test_the_server_keeps_the_limit_of_recent_names(hf: AsyncHoldfast) -> None:
    await hf.recent("p", limit=2).touch("a")
    with pytest.raises(DefinitionConflict, match="the limit of recent 'p' is 2, not 5"):
        await hf.recent("p", limit=5, on_conflict="error").touch("b")
    plain = hf.recent("p")
    for name in ("b", "c", "d"):
        await plain.touch(name)
    assert await plain.all() == ["d", "c"]
    await plain.redefine(limit=1)
    assert await plain.all() == ["d"]
    for limit in (0, 1001):
        with pytest.raises(ValueError, match="limit must be"):
            hf.recent("p", limit=limit)


async def test_the_default_limit_is_one_hundred(hf: AsyncHoldfast) -> None:
    recent = hf.recent("p")
    for n in range(103):
        await recent.touch(str(n))
    assert len(await recent.all()) == 100


async def test_known_completions(hf: AsyncHoldfast) -> None:
    assert await hf.known_completions() == []
    await hf.completions("guild:3").add("jeff")
    await hf.completions("guild:4").add_many(["jack"])
    await hf.completions("guild:5").search("je")
    assert sorted(await hf.known_completions()) == ["guild:3", "guild:4"]


async def test_a_prefix_of_many_names_needs_no_script(
    hf: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first search with a prefix shows it; a wrong prediction costs only a call."""
    scripts: list[str] = []
    whole = AsyncCaller.call

    async def counted(self: AsyncCaller, script: Script, *args: Any, **options: Any) -> Any:
        scripts.append(script.name)
        return await whole(self, script, *args, **options)

    names = hf.completions("guild")
    await names.add_many([*(f"ann {n}" for n in range(9)), "bob ann"])
    first, every = [f"ann {n}" for n in range(3)], [*(f"ann {n}" for n in range(9)), "bob ann"]
    assert await found(names, "ann", limit=3) == first
    monkeypatch.setattr(AsyncCaller, "call", counted)
    assert await found(names, "ann", limit=3) == first
    assert await found(names, "an", limit=3) == first
    assert scripts == []
    assert await found(names, "bo", limit=3) == ["bob ann"]
    assert await found(names, "ann", limit=10) == every
    assert await found(names, "a", limit=3) == first
    assert scripts == ["completions/search"] * 2
    for n in range(8):
        await names.remove(f"ann {n}")
    assert await found(names, "a", limit=3) == ["ann 8", "bob ann"]
