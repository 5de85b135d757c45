"""Scripts are package files: parts come in where they are named, the hash is that of the whole."""

import hashlib
from pathlib import Path

import pytest

from holdfast.core.script import Script


@pytest.fixture
def lua(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """Create the block `<name of the test>` on the path, and return its Lua folder."""
    package = tmp_path / request.node.name
    (package / "lua" / "parts").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return package / "lua"


def test_a_script_is_its_file(lua: Path) -> None:
    (lua / "verb.lua").write_text("#!lua\nreturn 1\n")
    script = Script.load("test_a_script_is_its_file", "verb")
    assert script == Script.of("test_a_script_is_its_file/verb", "#!lua\nreturn 1\n")
    assert script.sha1 == hashlib.sha1(b"#!lua\nreturn 1\n").hexdigest()


def test_parts_come_in_where_they_are_named(lua: Path) -> None:
    (lua / "parts" / "one.lua").write_text("local one = 1\n")
    (lua / "parts" / "two.lua").write_text("local two = 2\n")
    (lua / "verb.lua").write_text("#!lua\n-- include one\n\n-- include two\nreturn one + two\n")
    script = Script.load("test_parts_come_in_where_they_are_named", "verb")
    assert script.source == "#!lua\nlocal one = 1\n\nlocal two = 2\nreturn one + two\n"


def test_the_core_has_parts_for_all(lua: Path) -> None:
    """A block's own part goes before the core's of the same name."""
    (lua / "parts" / "notify.lua").write_text("-- my own notify\n")
    (lua / "verb.lua").write_text("#!lua\n-- include clock\n-- include notify\n")
    source = Script.load("test_the_core_has_parts_for_all", "verb").source
    assert "redis.call('TIME')" in source
    assert source.endswith("-- my own notify\n")


@pytest.mark.parametrize(
    ("first", "readonly"),
    [
        ("#!lua", False),
        ("#!lua flags=no-writes", True),
        ("#!lua flags=allow-oom", False),
        ("#!lua flags=no-writes,allow-oom", True),
        ("#!lua\n-- no-writes is only spoken of", False),
    ],
)
def test_readonly_is_what_the_server_gets(first: str, *, readonly: bool) -> None:
    assert Script.of("test/x", f"{first}\nreturn 1").readonly is readonly


def test_the_hash_is_of_the_bytes() -> None:
    assert Script.of("t/x", "-- é").sha1 == hashlib.sha1("-- é".encode()).hexdigest()


def test_a_verb_that_is_not_there_is_an_error_at_import(lua: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        Script.load("test_a_verb_that_is_not_there_is_an_error_at_import", "missing")


def test_a_part_that_is_not_there_is_named(lua: Path) -> None:
    (lua / "verb.lua").write_text("#!lua\n-- include nowhere\n")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Script.load("test_a_part_that_is_not_there_is_named", "verb")
