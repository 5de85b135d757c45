"""`--help` of every command, as a person reads it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner, Result

from cli.programs import on_terminal
from holdfast.cli.app import COMMANDS, app
from holdfast.cli.commands import LazyCommand


def commands(command: object, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield every command, as a user calls it."""
    yield path
    if isinstance(command, LazyCommand):
        command = command.load()
    if isinstance(command, TyperGroup):
        for name, each in command.commands.items():
            yield from commands(each, *path, name)


EVERY_COMMAND = list(commands(get_command(app)))


@cache
def command_at(path: tuple[str, ...]) -> Any:
    """Return the command that a user calls by *path*."""
    command: Any = command_at(path[:-1]).commands[path[-1]] if path else get_command(app)
    return command.load() if isinstance(command, LazyCommand) else command


@cache
def help_of(path: tuple[str, ...], columns: int) -> Result:
    """Return the help of a command on a terminal of so many *columns*."""
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, [*path, "--help"])


@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.long)])
@pytest.mark.parametrize("path", EVERY_COMMAND, ids=" ".join)
def test_help_describes_options_in_words(path: tuple[str, ...], columns: int) -> None:
    """Print no Python types and no ranges; flags take nothing; it fits on the screen."""
    result = help_of(path, columns)
    assert result.exit_code == 0
    assert not any(sign in result.stdout for sign in ("<", ">", "range", "x="))
    assert max(map(len, result.stdout.splitlines())) <= columns
    flags = [line for line in result.stdout.splitlines() if "--help" in line]
    assert flags[-1].split()[1:3] == ["--help", "Show"]


@pytest.mark.parametrize("path", EVERY_COMMAND, ids=" ".join)
def test_help_fills_its_lines(path: tuple[str, ...]) -> None:
    """A paragraph is folded at the edge of the terminal, and not where its source is."""
    shown = help_of(path, 80).stdout
    prose = shown.split("╭")[0]
    for paragraph in "\n".join(line.strip() for line in prose.splitlines()).split("\n\n"):
        lines = paragraph.strip().splitlines()
        for line, following in pairwise(lines):
            assert len(line) + 1 + len(following.split()[0]) > 78, (line, following)


@pytest.mark.parametrize(
    "args",
    [
        ["tasks", "ls", "q", "--limit", "1001"], ["worker", "m", "--lease", "0.5"],
        ["demo", "mail", "--workers", "0"],
    ],
)  # fmt: skip
def test_what_is_out_of_range_is_refused(args: list[str]) -> None:
    """Validate limits although the help shows no ranges."""
    result = CliRunner().invoke(app, args)
    assert (result.exit_code, "Input should be" in result.stderr) == (2, True)


def test_the_help_has_colours_where_they_are_wanted() -> None:
    """Use colours on a terminal, and not with NO_COLOR."""
    cyan = "\x1b[1;36m"
    assert cyan in on_terminal("worker", "--help")[1]
    assert cyan not in on_terminal("worker", "--help", NO_COLOR="1")[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_agrees_with_the_help_of_each_command(name: str) -> None:
    """Compare the table of commands with the help of each."""
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    later = command.commands[name]
    assert isinstance(later, LazyCommand)
    summary = later.load().help.split("\n\n")[0]
    assert COMMANDS[name] == " ".join(summary.split())


@pytest.mark.parametrize("path", EVERY_COMMAND, ids=" ".join)
def test_the_page_of_commands_has_them_all(path: tuple[str, ...]) -> None:
    """Compare `docs/cli.md` with the help of each command."""
    command = command_at(path)
    if isinstance(command, TyperGroup):
        return
    summary = " ".join(command.help.split("\n\n")[0].split())
    page = (Path(__file__).resolve().parents[2] / "docs/cli.md").read_text()
    assert f"| `holdfast {' '.join(path)}` | {summary} |\n" in page


HELP = """
import sys
from holdfast.cli import main

for words in sys.argv[1:]:
    sys.argv = ["holdfast", *words.split(), "--help"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, words
    heavy = {"pydantic", "redis", "asyncio", "holdfast.client"} & sys.modules.keys()
    assert not heavy, (words, heavy)
"""


def test_help_loads_little() -> None:
    """Import neither a client nor pydantic, so that help is fast."""
    paths = ("", "worker", "queues", "queues ls", "locks run")
    done = subprocess.run(
        [sys.executable, "-c", HELP, *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ") == len(paths)


@pytest.mark.parametrize("path", EVERY_COMMAND, ids=" ".join)
def test_the_help_has_an_example_that_the_command_accepts(
    path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group that needs a command has none; its commands have."""
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path)
    command = command_at(path)
    if isinstance(command, TyperGroup) and (not path or not command.epilog):
        assert command.no_args_is_help or command.commands["ls"].epilog
        return
    program, *words = shlex.split(command.epilog.removeprefix("Example: "))
    assert (program, *words[: len(path)]) == ("holdfast", *path)
    with command.make_context(path[-1], words[len(path) :]) as context:
        assert not context.args
