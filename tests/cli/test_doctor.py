"""`holdfast doctor` and `holdfast acl`: what they print, and their exit codes."""

from __future__ import annotations

import shlex

import pytest
from typer.testing import CliRunner

from cli.filled_queue import Run, rows
from cli.programs import holdfast, on_terminal
from conftest import Site
from faults.servers import Server
from holdfast import Holdfast, acl_rule
from holdfast.cli.app import app


def test_findings_are_listed(run: Run) -> None:
    """Print why, what to do and a sum for people; one object each for scripts."""
    listed = run("doctor")
    assert "warning 127.0.0.1:" in listed.stdout
    assert "it does not append writes to a file" in listed.stdout
    assert "  why  a restart loses " in listed.stdout
    assert "  do   CONFIG SET appendonly yes" in listed.stdout
    assert listed.stdout.splitlines()[-1].startswith(("1 server, ", "3 servers, "))
    assert " layout version" in listed.stdout.splitlines()[-1]
    found = rows(run("doctor", "--json"))
    assert {"level", "title", "why", "command", "server"} == set(found[0])
    levels = [each["level"] for each in found]
    assert "warning" in levels
    assert levels == sorted(levels, key=["error", "warning", "note"].index)


def test_the_exit_code_says_how_bad_it_is(fresh_server: Server) -> None:
    """Exit with 0 for notes, 5 for warnings, 6 for errors, 1 without a server."""

    def code(url: str) -> int:
        return CliRunner().invoke(app, ["doctor", "--url", url]).exit_code

    with fresh_server.client() as client, Holdfast.from_url(fresh_server.url) as hf:
        known = {each.level for each in hf.diagnose()}  # of an old release there may be all
        old = 6 if "error" in known else 5 if "warning" in known else 0
        assert code(fresh_server.url) == old
        client.config_set("appendonly", "no")
        assert code(fresh_server.url) == max(old, 5)
        client.config_set("maxmemory", 1)
        assert code(fresh_server.url) == 6
    assert code("redis://127.0.0.1:1") == 1


def test_colours_are_for_terminals(standalone: Server) -> None:
    """Use colours on a terminal, and not with NO_COLOR."""
    asked = ("doctor", "--url", standalone.url)
    yellow = "\x1b[1;33m"
    assert yellow in on_terminal(*asked)[1]
    assert yellow not in on_terminal(*asked, NO_COLOR="1")[1]
    assert "\x1b[" not in holdfast(*asked).stdout


def test_the_rule_can_be_pasted(standalone: Server, home: Site) -> None:
    """Create a user by it: this user may do all of Holdfast, and no finding is about rights."""
    result = CliRunner().invoke(app, ["acl", "--user", "pasted", "--namespace", home.namespace])
    assert result.exit_code == 0
    assert "replace PASSWORD by a password" in result.stderr
    with standalone.client() as client:
        try:
            client.execute_command(*shlex.split(result.stdout.replace("PASSWORD", "secret")))
            url = standalone.url.replace("://", "://pasted:secret@")
            with Holdfast.from_url(url, namespace=home.namespace) as hf:
                with hf.lock("a").hold(timeout=0):
                    hf.counter("c").add()
                assert not any("user 'pasted' may" in each.title for each in hf.diagnose())
        finally:
            client.execute_command("ACL", "DELUSER", "pasted")


def test_a_missing_right_is_named(standalone: Server) -> None:
    """Name the missing right if the user may not call INFO."""
    with standalone.client() as client:
        rule = (*acl_rule("asking").split(), "-info")
        client.execute_command("ACL", "SETUSER", "asking", *rule, "on", ">secret")
        try:
            url = standalone.url.replace("://", "://asking:secret@")
            asked = ["doctor", "--url", url, "--namespace", "asking"]
            result = CliRunner(env={"COLUMNS": None}).invoke(app, asked)
            assert (result.exit_code, result.stderr) == (6, "")
            assert result.stdout.startswith("error user 'asking' may not INFO\n  why  ")
            assert f"  do   ACL SETUSER asking {acl_rule('asking')} on >PASSWORD\n" in result.stdout
            assert result.stdout.splitlines()[-1].startswith("1 error")  # it may be slow, too
        finally:
            client.execute_command("ACL", "DELUSER", "asking")


def test_the_rule_alone_goes_into_other_tools() -> None:
    """Print it on standard output, with nothing beside it."""
    result = CliRunner().invoke(app, ["acl", "--namespace", "shop"])
    assert (result.exit_code, result.stdout, result.stderr) == (0, acl_rule("shop") + "\n", "")


@pytest.mark.parametrize("args", [["--user", "a b"], ["--user", ""], ["--namespace", "\ud800"]])
def test_impossible_names_are_refused(args: list[str]) -> None:
    """Refuse invalid names before a user pastes them."""
    assert CliRunner().invoke(app, ["acl", *args]).exit_code == 2
