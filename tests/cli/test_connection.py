"""Test which server a command uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from faults.servers import Server
from holdfast import Holdfast, TaskRegistry
from holdfast.cli.app import app

NOBODY = "redis://127.0.0.1:1"
CLEAN = {"HOLDFAST_URL": None, "HOLDFAST_EMBEDDED": None, "HOLDFAST_NAMESPACE": None}


def invoke(*args: str | Path, **env: str) -> Result:
    return CliRunner(env=CLEAN | env).invoke(app, list(map(str, args)))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder with a running server and a queue `q`."""
    folder = tmp_path_factory.mktemp("embedded") / "data"
    with Holdfast.embedded(folder) as hf:
        hf.enqueue(TaskRegistry().task(queue="q")(print).call().options(task_id="t"))
        yield folder


def test_a_server_is_asked_for() -> None:
    """Require a server: only the demo starts one by itself."""
    result = invoke("queues")
    assert (result.exit_code, "--embedded FOLDER" in result.stderr) == (2, True)


def test_a_server_that_does_not_answer_is_a_failure() -> None:
    """Print what failed, where, why, and what to do; no script names."""
    for command in (["queues"], ["tasks", "ls", "q"], ["queues", "pause", "q"]):
        result = invoke(*command, "--url", NOBODY)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == (
            f"holdfast: cannot use {NOBODY} (127.0.0.1:1: Connection refused); "
            "check the URL, and whether it runs\n"
        )


@pytest.mark.parametrize(
    ("url", "output"),
    [
        ("redis//localhost", "'redis//localhost' is no URL of a server: it does not begin with"),
        ("localhost:6379", "expected such as redis://localhost:6379"),
        ("redis://localhost:abc", "Port could not be cast to integer value as 'abc'"),
        ("redis://localhost?colour=red", "unknown options in the URL: colour"),
        ("http://localhost", "'http' is not one of redis, rediss, unix"),
        ("joe:secret@localhost", "'joe:***@localhost' is no URL"),
        ("redis://:sec/ret@localhost", "'redis://:***@localhost' is no URL of a server: its port"),
        ("redis://localhost?pass_word=secret", "unknown options in the URL: pass_word"),
    ],
)
def test_a_mistyped_url_is_wrong_usage(url: str, output: str) -> None:
    """Print a sentence that does not show the password."""
    result = invoke("queues", "--url", url)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert output in result.stderr
    assert "sec" not in result.stderr.replace("pass_word=secret", "")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("tasks history q --name \udcff", r"'\udcff' is not valid Unicode at position 0"),
        ("tasks signal q t go --value NaN", "--value is not JSON: NaN is no JSON"),
        ("tasks signal q t go --value 1e400", "JSON has neither NaN nor infinity"),
        (f"tasks signal q t go --value {'[' * 100_000}", "--value is not JSON"),
        ("schedules add nightly q t far=1e400 --every 60", "JSON has neither NaN nor infinity"),
        ("chat send jill \udcff --as jack --mailbox", "cannot be stored"),
        ("serve revoke \udcff", "cannot be stored"),
        ("tasks follow q t --timeout 1e400", "timeout must be 0 seconds or more and finite"),
        ("logs send . --to a --timeout 1e400", "timeout must be 0 seconds or more and finite"),
        (f"queues limit q --concurrency {10**30}", "concurrency must be 0 to 1,000,000"),
    ],
    ids=lambda given: given[:30].encode("ascii", "replace").decode(),
)
def test_a_value_that_cannot_be_sent_is_wrong_usage(data: Path, command: str, output: str) -> None:
    """Name what is wrong with it."""
    result = invoke(*command.split(), "--embedded", data)
    assert (result.exit_code, output in result.stderr) == (2, True)


def test_an_empty_key_is_wrong_usage(data: Path) -> None:
    """No split of a command line makes an empty argument."""
    for command in (["show"], ["forget", "--yes"]):
        result = invoke("idempotency", *command, "http", "", "--embedded", data)
        assert (result.exit_code, "must not be empty" in result.stderr) == (2, True)


def test_a_password_is_not_shown() -> None:
    """Hide it in front of the host and among the options."""
    for url, shown in (
        ("redis://joe:secret@127.0.0.1:1/2", "redis://joe:***@127.0.0.1:1/2 "),
        ("redis://:se@cret@127.0.0.1:1", "redis://:***@127.0.0.1:1 "),
        ("redis://127.0.0.1:1?password=secret&db=1", "redis://127.0.0.1:1?password=***&db=1 "),
        ("redis://joe@127.0.0.1:1", "redis://joe@127.0.0.1:1 "),
        ("redis+cluster://u:secret@127.0.0.1:1,127.0.0.1:2", "://u:***@127.0.0.1:1,127.0.0.1:2 "),
    ):
        result = invoke("queues", "--url", url + ("&" if "?" in url else "?") + "socket_timeout=1")
        assert shown.rstrip() in result.stderr
        assert "secret" not in result.stderr
        assert "cret@" not in result.stderr


def test_a_server_that_refuses_is_a_failure(standalone: Server) -> None:
    """Print the error of the server, without advice for programs."""
    standalone.execute("ACL", "SETUSER", "mouse", "on", ">cheese", "~*", "+ping")
    host = standalone.url.removeprefix("redis://")
    for login, output in (
        ("mouse:cheese", f"holdfast: redis://mouse:***@{host} refuses: NOPERM"),
        ("mouse:milk", f"holdfast: cannot use redis://mouse:***@{host} ("),
    ):
        result = invoke("queues", "--url", f"redis://{login}@{host}")
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        assert result.stderr.startswith(output), result.stderr


def test_two_servers_are_wrong_usage(data: Path) -> None:
    """Refuse two options, in either order."""
    two = [["--url", NOBODY, "--embedded", data], ["--embedded", data, "--url", NOBODY]]
    for options in two:
        for command in (
            ["queues"], ["tasks", "show", "q", "t"], ["worker", "m:tasks"], ["demo", "mail"],
        ):  # fmt: skip
            result = invoke(*command, *options)
            assert result.exit_code == 2
            assert "--url and --embedded name two servers" in result.stderr
    result = invoke("queues", HOLDFAST_URL=NOBODY, HOLDFAST_EMBEDDED=str(data))
    assert result.exit_code == 2
    assert "HOLDFAST_URL and HOLDFAST_EMBEDDED name two servers" in result.stderr


def test_the_command_line_goes_before_variables(data: Path) -> None:
    """Ignore a variable of the other kind."""
    assert invoke("queues", "--embedded", data, HOLDFAST_URL=NOBODY).exit_code == 0
    result = invoke("queues", "--url", NOBODY, HOLDFAST_EMBEDDED=str(data))
    assert (result.exit_code, "127.0.0.1:1" in result.stderr) == (1, True)


def test_the_folder_can_come_from_a_variable(data: Path) -> None:
    """Accept HOLDFAST_EMBEDDED for all commands."""
    for command in (["queues"], ["queues", "show", "q"], ["tasks", "ls", "q"]):
        assert invoke(*command, HOLDFAST_EMBEDDED=str(data)).exit_code == 0


@pytest.mark.parametrize(
    "command",
    [
        ["queues"], ["queues", "ls"], ["queues", "show", "q"], ["queues", "pause", "q"],
        ["queues", "purge", "q", "--yes"], ["tasks", "ls", "q"], ["tasks", "show", "q", "t"],
        ["tasks", "cancel", "q", "t", "--yes"], ["tasks", "replay", "q", "--yes"],
    ],
)  # fmt: skip
def test_commands_that_read_create_no_folder(tmp_path: Path, command: list[str]) -> None:
    """Create no empty server because of a typing error."""
    result = invoke(*command, "--embedded", tmp_path / "nosuch")
    assert (result.exit_code, "there is no folder" in result.stderr) == (3, True)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_may_hold_no_queues(tmp_path: Path) -> None:
    """Print that there are none; this is no error."""
    result = invoke("queues", "--embedded", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "no queues in namespace holdfast\n")
    assert invoke("queues", "--json", "--embedded", tmp_path).stdout == ""
