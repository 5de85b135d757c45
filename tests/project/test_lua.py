"""Every Lua file keeps what its header promises, and the rules that say so do bite."""

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from holdfast.core import ledger
from holdfast.core.names import Namespace, Unit
from holdfast.core.script import Script, part_of
from project import lua_rules as rules
from project.lua import LuaFile, parts, scripts
from project.sources import DEMOS, PACKAGE, modules, tree

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
local now_ms = clock()
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
    """Return a script of the queue with this *source*."""
    return LuaFile("queues/good", source, PACKAGE / "queues/lua")


def test_there_are_scripts() -> None:
    """A search that finds nothing would find nothing wrong either."""
    assert {script.name for script in SCRIPTS} >= {"core/note", "queues/enqueue", "queues/step"}
    assert {part.name for part in PARTS} >= {"core/parts/clock", "queues/parts/settle"}


def broken(rule: Rule, files: Sequence[LuaFile]) -> dict[str, list[str]]:
    """Return the problems of each file that breaks the rule."""
    problems = {file.name: list(rule(file)) for file in files}
    return {name: found for name, found in problems.items() if found}


@pytest.mark.parametrize("rule", rules.SCRIPT_RULES, ids=lambda rule: rule.__name__)
def test_each_script_keeps_the_rule(rule: Rule) -> None:
    assert broken(rule, SCRIPTS) == {}


@pytest.mark.parametrize("rule", rules.PART_RULES, ids=lambda rule: rule.__name__)
def test_each_part_keeps_the_rule(rule: Rule) -> None:
    assert broken(rule, PARTS) == {}


@pytest.mark.parametrize("rule", rules.FILE_RULES, ids=lambda rule: rule.__name__)
def test_each_file_keeps_the_rule(rule: Rule) -> None:
    assert broken(rule, [*SCRIPTS, *PARTS]) == {}


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
        (rules.notifications_are_hints, "'RPUSH'", "'SPUBLISH'", "redis.pcall"),
        (rules.is_short, "return", "\n" * 80 + "return", "the limit is 80"),
        (rules.includes_are_in_order, "clock", "settle", "expects record, return_task"),
        (rules.includes_are_in_order, "clock", "clock\n-- include clock", "twice"),
        (rules.every_name_is_defined, "-- include clock\n", "", "clock"),
        (rules.every_name_is_defined, "#taken)", "#token)", "token"),
    ],
)
def test_a_rule_bites(rule: Rule, old: str, new: str, problem: str) -> None:
    assert old in GOOD
    assert re.search(problem, " · ".join(rule(example(GOOD.replace(old, new)))))


def part(source: str) -> LuaFile:
    """Return a part of the queue with this *source*."""
    return LuaFile("queues/parts/x", f"-- Does x.\n\n{source}", PACKAGE / "queues/lua/parts")


def test_a_part_may_not_use_what_it_does_not_expect() -> None:
    """Or the script that includes it would not know what to define."""
    [problem] = rules.part_says_what_it_expects(part("local function x()\n  return want\nend\n"))
    assert problem.startswith("it uses want: ")


@pytest.mark.parametrize(
    "line",
    [
        "local any = redis.call('EXISTS', 'x')",
        "local found = {}",
        "local NOW = clock()",
        "x()",
        "local function x() return ARGV[1] end",
        "local function x(keys)\n  return KEYS[1]\nend",
    ],
)
def test_a_part_may_only_define(line: str) -> None:
    """What runs when it is included, or reads the keys of a script, is refused."""
    good = "local MOST = 2 ^ 53  -- of them\nlocal NAMES = {'a', 'b'}\n\nlocal function f(a)\nend\n"
    assert list(rules.part_only_defines(part(good))) == []
    assert list(rules.part_only_defines(part(f"{good}{line}\n")))


def test_every_part_is_used() -> None:
    used = {script.part(name).name for script in SCRIPTS for name in script.includes}
    assert used == {part.name for part in PARTS}


def test_no_exception_is_left_without_its_file() -> None:
    """The lists of exceptions name only files that are there."""
    there = {file.name for file in [*SCRIPTS, *PARTS]}
    assert {*rules.MAY_UNPACK, *rules.ALLOW_OOM, *rules.SWEEPS} <= there


def loads() -> Iterator[str]:
    """Return `block/verb` of every `Script.load`, except in generated files."""
    for path in modules():
        if path.parent.name != "_sync":
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
    """Return the `keys.py` of every block."""
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


@pytest.mark.parametrize(
    "file",
    [each for each in SCRIPTS if not each.name.startswith("core/")],
    ids=lambda each: each.name,
)
def test_keys_are_bound_by_their_names(file: LuaFile) -> None:
    """In the order of the header; those that a unit alone does not name come last."""
    block, verb = file.name.split("/")
    keys = importlib.import_module(f"holdfast.{block}.keys")
    unit = Namespace.of("app").unit("kind", "name")
    wanted: list[str] = []
    for key in file.keys:
        part = part_of(keys, key.name)
        if part is not None:
            assert len(wanted) == key.number - 1, f"{key.name} stands behind a key that is given"
            wanted.append(unit.key(part))
            assert wanted[-1] in [*ledger.keys(unit), *keys_of(keys, unit)]
    bound = Script.load(f"holdfast.{block}", verb).keys(unit, "given")
    assert bound == (*wanted, "given")
    assert len(set(wanted)) == len(wanted)


def keys_of(keys: ModuleType, unit: Unit) -> Iterator[str]:
    """Return every key of a `keys.py` that depends only on *unit*."""
    for function in vars(keys).values():
        is_key = inspect.isfunction(function) and function.__module__ == keys.__name__
        if is_key and len(inspect.signature(function).parameters) == 1:
            found = function(unit)
            yield from [found] if isinstance(found, str) else found


def bindings() -> Iterator[tuple[str, ast.Call]]:
    """Yield `block/verb` of the script, and the call, for every `NAME.keys(…)`."""
    verbs = {}
    for path in modules():
        for node in tree(path).body:
            if isinstance(node, ast.AnnAssign) and "Script.load" in ast.unparse(node):
                assert isinstance(node.value, ast.Call)
                package, verb = map(ast.literal_eval, node.value.args)
                name = package.removeprefix("holdfast.")
                verbs[name, ast.unparse(node.target)] = f"{name}/{verb}"
    for path in modules(without=(DEMOS.name,)):
        block = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and re.fullmatch(
                r"[A-Z_]+\.keys", ast.unparse(node.func)
            ):
                yield verbs[block, ast.unparse(node.func).removesuffix(".keys")], node


def test_what_a_unit_does_not_name_is_given() -> None:
    """As many keys as the header has beside those of the unit; of a list, any number."""
    files = {script.name: script for script in SCRIPTS}
    seen = set()
    for name, call in bindings():
        keys = importlib.import_module(f"holdfast.{name.split('/')[0]}.keys")
        wanted = [key for key in files[name].keys if part_of(keys, key.name) is None]
        given = call.args[1:]
        if wanted and rules.is_first_of(wanted[-1]):
            if any(isinstance(each, ast.Starred) for each in given):
                wanted, given = wanted[:-1], given[:-1]
            elif len(given) == len(wanted) - 1:  # the list may be empty
                wanted = wanted[:-1]
        elif wanted and isinstance(given[-1], ast.Starred):  # a list of one
            wanted, given = wanted[:-1], given[:-1]
        assert len(given) == len(wanted), (name, ast.unparse(call))
        seen.add(name)
    assert len(seen) > len(files) / 2


@pytest.mark.parametrize("name", ["bodiez", "ready_x", "ready_", "thing_h"])
def test_a_key_that_is_not_there_is_an_error(name: str) -> None:
    """A header that names it cannot be bound."""
    keys = importlib.import_module("holdfast.queues.keys")
    with pytest.raises((AttributeError, ValueError)):
        part_of(keys, name)
