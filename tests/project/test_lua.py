"""Every Lua file keeps what its header promises, and the rules that say so do bite."""

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.core.script import Script
from project import lua_rules as rules
from project.lua import LuaFile, parts, scripts
from project.sources import PACKAGE, modules, tree

SCRIPTS, PARTS = scripts(), parts()
Rule = Callable[[LuaFile], Iterator[str]]

GOOD = """\
#!lua
-- queues/good: what a file looks like that no rule minds.
--
-- KEYS[1]  HASH    bodies  id -> envelope
-- KEYS[2]  LIST    ready_h  ids
-- KEYS[3]  LIST    ready_m
-- KEYS[4]  LIST    ready_l
-- ARGV[1]  int     limit   at most
-- ARGV[2]  string  first of the ids
-- returns  int     how many
-- include clock

local bodies, limit = KEYS[1], tonumber(ARGV[1])
local FIRST = 2
local taken = {}
local priority = 1
for i = FIRST, #ARGV do
  taken[#taken + 1] = redis.call('HGET', bodies, ARGV[i])
  redis.call('RPUSH', KEYS[1 + priority], now_ms)
end
return math.min(limit, #taken)
"""


def example(source: str) -> LuaFile:
    """A file of the queue with this *source*."""
    return LuaFile("queues/good", source, PACKAGE / "queues/lua")


def test_there_are_scripts() -> None:
    """A search that finds nothing would find nothing wrong either."""
    assert {script.name for script in SCRIPTS} >= {"core/note", "queues/enqueue", "queues/step"}
    assert {part.name for part in PARTS} >= {"core/parts/clock", "queues/parts/settle"}


@pytest.mark.parametrize("rule", rules.SCRIPT_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_keeps_the_rule(script: LuaFile, rule: Rule) -> None:
    assert list(rule(script)) == []


@pytest.mark.parametrize("rule", rules.PART_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_keeps_the_rule(part: LuaFile, rule: Rule) -> None:
    assert list(rule(part)) == []


@pytest.mark.parametrize("rule", rules.FILE_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("file", [*SCRIPTS, *PARTS], ids=lambda file: file.name)
def test_a_file_keeps_the_rule(file: LuaFile, rule: Rule) -> None:
    assert list(rule(file)) == []


@pytest.mark.parametrize("rule", [*rules.SCRIPT_RULES, *rules.FILE_RULES], ids=lambda r: r.__name__)
def test_no_rule_minds_the_good_example(rule: Rule) -> None:
    assert list(rule(example(GOOD))) == []


@pytest.mark.parametrize(
    ("rule", "old", "new", "problem"),
    [
        (rules.says_what_it_is, "#!lua", "#!lua flags=allow-stale", "first line"),
        (rules.says_what_it_is, "queues/good:", "queues/bad:", "second line"),
        (rules.header_is_complete, "-- returns  int", "-- gives    int", "returns"),
        (rules.header_is_complete, "KEYS[4]  LIST", "KEYS[5]  LIST", "numbered"),
        (rules.header_is_complete, "HASH  ", "TABLE ", "no known type"),
        (rules.header_is_complete, "int     limit", "ms      limit", "no known type"),
        (rules.header_is_readable, "ARGV[1]", "ARGS[1]", "says nothing"),
        (rules.keys_are_those_declared, "'HGET', bodies", "'HGET', KEYS[5]", r"KEYS\[5\] is used"),
        (rules.keys_are_those_declared, "1 + priority", "2", r"KEYS\[3\] is declared and not"),
        (rules.keys_are_those_declared, "1 + priority", "i % 2", "not KEYS.i % 2."),
        (rules.keys_are_those_declared, "1 + priority", "i + 1", r"not KEYS.i . 1."),
        (rules.keys_are_those_declared, "#taken)", "#KEYS)", "as a whole"),
        (rules.arguments_are_those_declared, "#taken)", "ARGV[3])", r"ARGV\[3\] is used"),
        (rules.arguments_are_those_declared, "tonumber(ARGV[1])", "3", r"ARGV\[1\] is declared"),
        (rules.arguments_are_those_declared, "FIRST = 2", "FIRST = 1", "FIRST = 2"),
        (rules.arguments_are_those_declared, "first of the ids", "the ids", "declared last"),
        (rules.names_are_those_of_the_header, "local bodies,", "local states,", "calls"),
        (rules.commands_fit_their_keys, "'HGET'", "'HVALS'", "HVALS is not among"),
        (rules.commands_fit_their_keys, "'HGET'", "'HGETALL'", "HGETALL may be as long as its key"),
        (rules.commands_fit_their_keys, "'HGET'", "'KEYS'", "KEYS is not among"),
        (rules.commands_fit_their_keys, "'HGET'", "'LLEN'", "LLEN wants a LIST"),
        (rules.commands_fit_their_keys, "KEYS[1 + p", "'q:' .. KEYS[1 + p", "not from KEYS"),
        (rules.commands_fit_their_keys, "'HGET', bodies, ", "'ZRANGE', ready, 0, -1, ", "a limit"),
        (
            rules.commands_fit_their_keys,
            "'HGET', bodies, ",
            "'ZRANGE', ready, '-inf', now_ms, 'BYSCORE', ",
            "a limit",
        ),
        (rules.flags_keep_their_word, "#!lua", "#!lua flags=no-writes", "changes something"),
        (rules.flags_keep_their_word, "#!lua", "#!lua flags=allow-oom", "with a reason"),
        (rules.flags_keep_their_word, "RPUSH", "LLEN", "no-writes"),
        (rules.time_comes_from_the_clock, "'RPUSH'", "'TIME'", "include it"),
        (rules.loops_are_bounded, "for i = FIRST, #ARGV do", "while true do", "bounds this loop"),
        (rules.loops_are_bounded, "now_ms)", "unpack(taken))", "unpack"),
        (rules.rings_are_hints, "'RPUSH'", "'SPUBLISH'", "redis.pcall"),
        (rules.is_short, "return", "\n" * 80 + "return", "the limit is 80"),
        (rules.includes_are_in_order, "clock", "settle", "expects awaiting, pace, record"),
        (rules.includes_are_in_order, "clock", "clock\n-- include clock", "twice"),
        (rules.every_name_is_defined, "-- include clock\n", "", "now_ms"),
        (rules.every_name_is_defined, "#taken)", "#token)", "token"),
    ],
)
def test_a_rule_bites(rule: Rule, old: str, new: str, problem: str) -> None:
    assert old in GOOD
    assert re.search(problem, " · ".join(rule(example(GOOD.replace(old, new)))))


def test_a_part_may_not_use_what_it_does_not_expect() -> None:
    part = LuaFile("queues/parts/x", "-- Does x.\n\nlocal x = want\n", PACKAGE / "queues/lua/parts")
    assert list(rules.part_says_what_it_expects(part)) == ["it uses want: say so after `Expects:`"]


def test_every_part_is_used() -> None:
    used = {script.part(name).name for script in SCRIPTS for name in script.includes}
    assert used == {part.name for part in PARTS}


def test_no_exception_is_left_without_its_file() -> None:
    """The lists of exceptions name only files that are there."""
    there = {file.name for file in [*SCRIPTS, *PARTS]}
    assert {*rules.MAY_UNPACK, *rules.ALLOW_OOM, *rules.SWEEPS} <= there


def loads() -> Iterator[str]:
    """`block/verb` of every `Script.load` in the package, generated files left out."""
    for path in modules():
        if path.name != "_sync.py":
            for node in ast.walk(tree(path)):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "Script.load":
                    package, verb = map(ast.literal_eval, node.args)
                    yield f"{package.removeprefix('holdfast.')}/{verb}"


def test_every_script_is_loaded_once() -> None:
    assert sorted(loads()) == sorted(script.name for script in SCRIPTS)


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda script: script.name)
def test_what_is_read_here_is_what_the_server_gets(file: LuaFile) -> None:
    block, verb = file.name.split("/")
    script = Script.load(f"holdfast.{block}", verb)
    assert script.source == file.whole
    assert script.readonly is ("no-writes" in file.header[0])
    assert "-- include " not in script.source


def keys_modules() -> list[Path]:
    """`keys.py` of every block."""
    return sorted(PACKAGE.glob("*/keys.py"))


@pytest.mark.parametrize("path", keys_modules(), ids=lambda path: path.parent.name)
def test_headers_and_keys_py_agree_on_every_type(path: Path) -> None:
    """`keys.py` is what a reader looks into; the ledger's two hashes are the core's."""
    block = path.parent.name
    keys = importlib.import_module(f"holdfast.{block}.keys")
    for script in SCRIPTS:
        if script.name.startswith(f"{block}/"):
            for name, kind in rules.described(script.keys).items():
                if name not in ("even", "odd"):
                    assert getattr(keys, name).__doc__.split()[0] == kind, (script.name, name)
