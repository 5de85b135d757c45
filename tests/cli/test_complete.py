"""Test `holdfast complete`: find names by prefix, for one prefix, by line, and as a user types."""

from __future__ import annotations

import pytest
from click.testing import Result
from typer.testing import CliRunner

from cli.filled_queue import HOSTILE, VISIBLE, Run, rows
from cli.programs import CTRL_C, on_terminal
from conftest import Site
from faults.servers import Server
from holdfast import Holdfast
from holdfast.cli.app import app

DOWN = "\x1b[B"
GUILD = ["jeff", "jenny", "jack", "jennifer", ("Carla Santos", "42"), "张三", "张伟"]


@pytest.fixture
def guild(hf: Holdfast) -> Holdfast:
    hf.completions("guild:3").add_many(GUILD)
    return hf


def by_line(home: Site, lines: str, *args: str) -> Result:
    variables = {"HOLDFAST_URL": home.url, "HOLDFAST_NAMESPACE": home.namespace}
    return CliRunner(env=variables).invoke(app, ["complete", "guild:3", *args], input=lines)


def test_names_by_a_prefix(guild: Holdfast, run: Run) -> None:
    """Print them for people and for scripts."""
    assert run("complete", "guild:3", "JE").stdout == "jeff\njennifer\njenny\n"
    assert run("complete", "guild:3", "je", "--limit", "1").stdout == "jeff\n"
    assert run("complete", "guild:3", "san").stdout == "Carla Santos\t42\n"
    assert rows(run("complete", "guild:3", "c", "--json")) == [
        {"prefix": "c", "name": "Carla Santos", "id": "42"}
    ]
    assert run("complete", "guild:3", "张", "--json").stdout.count("\n") == 2


def test_nothing_is_found(guild: Holdfast, run: Run) -> None:
    """Exit with code 3, and print whether there are any names at all."""
    none = run("complete", "guild:3", "x")
    assert (none.exit_code, none.stdout) == (3, "")
    assert "nothing in completions 'guild:3'" in none.stderr
    assert "begins with 'x'" in none.stderr
    nowhere = run("complete", "guild:4", "x", "--json")
    assert (nowhere.exit_code, nowhere.stdout) == (3, "")
    assert "there are no completions 'guild:4'" in nowhere.stderr


def test_untrusted_names_are_escaped(hf: Holdfast, run: Run) -> None:
    """Escape control characters in names."""
    hf.completions("guild:3").add(HOSTILE, id=HOSTILE)
    assert run("complete", "guild:3", "[").stdout == f"{VISIBLE}\t{VISIBLE}\n"


def test_prefixes_by_the_line(guild: Holdfast, home: Site) -> None:
    """End the matches of each prefix by an empty line; go on after an invalid prefix."""
    done = by_line(home, "je\nx\n\0\nsan\n")
    assert done.exit_code == 0
    assert done.stdout == "jeff\njennifer\njenny\n\n\n\nCarla Santos\t42\n\n"
    assert "holds a NUL" in done.stderr
    output = rows(by_line(home, "jef\nx\nja\n", "--json"))
    assert [(each["prefix"], each["name"]) for each in output] == [("jef", "jeff"), ("ja", "jack")]


@pytest.fixture
def where(standalone: Server, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the variables of a server with names that programs can reach."""
    namespace = request.node.name
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        hf.completions("guild:3").add_many(GUILD)
    variables = {"HOLDFAST_URL": standalone.url, "HOLDFAST_NAMESPACE": namespace}
    return variables | {"PROMPT_TOOLKIT_NO_CPR": "1"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("typed", "found"), [("jack\r", "jack\n"), ("san\t\r", "Carla Santos\t42\n")]
)
def test_names_as_one_types(where: dict[str, str], typed: str, found: str) -> None:
    """Show names before anything is typed; Tab takes the first, Enter prints."""
    code, shown = on_terminal("complete", "guild:3", wait_for="jennifer", say=typed, **where)
    assert code == 0, shown
    assert shown.endswith(found)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (f"{DOWN}\r", "Li Jo\t1\n"),
        (f"{DOWN}{DOWN}\r", "Li Jo\t2\n"),
        ("Li Jo\r", "Li Jo\t1\nLi Jo\t2\n"),
    ],
    ids=["the first", "the second", "by name only"],
)
def test_equal_names(where: dict[str, str], typed: str, found: str) -> None:
    """Return the one that the user chose among names that are equal."""
    with Holdfast.from_url(where["HOLDFAST_URL"], namespace=where["HOLDFAST_NAMESPACE"]) as hf:
        hf.completions("jo").add_many([("Li Jo", "1"), ("Li Jo", "2"), ("Li Joy", "3")])
    code, shown = on_terminal("complete", "jo", wait_for="Li Joy", say=typed, **where)
    assert code == 0, shown
    assert shown.rpartition("\x1b[?2004l")[2] == found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", [CTRL_C, "\x04"])
def test_leaving_it(where: dict[str, str], key: str) -> None:
    """End the prompt by Ctrl-C or Ctrl-D."""
    code, shown = on_terminal("complete", "guild:3", wait_for="jennifer", say=key, **where)
    assert code == 130, shown
    assert "Traceback" not in shown


def test_colours_of_the_line(where: dict[str, str]) -> None:
    """Use no colours with NO_COLOR."""
    keys = {"wait_for": "jennifer", "say": CTRL_C}
    assert "48;5;" in on_terminal("complete", "guild:3", **keys, **where)[1]
    assert "48;5;" not in on_terminal("complete", "guild:3", **keys, NO_COLOR="1", **where)[1]


def test_a_server_that_goes_away(where: dict[str, str]) -> None:
    """Show the problem below the line; the prompt goes on."""
    where |= {"HOLDFAST_URL": "redis://127.0.0.1:1"}
    code, shown = on_terminal("complete", "guild:3", wait_for="failed", say=CTRL_C, **where)
    assert code == 130, shown
    assert "Traceback" not in shown
