"""Run the command line on a real terminal: questions, colours and widths."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.filled_queue import enqueue_dead, filled_queue, note
from cli.programs import PATIENCE_S, clean, holdfast, on_terminal
from faults.servers import Server
from holdfast import Holdfast


@pytest.fixture
def hf(standalone: Server, request: pytest.FixtureRequest) -> Iterator[Holdfast]:
    """Yield a client of a namespace of the test's own, on a server that programs can reach."""
    namespace = request.node.name
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


@pytest.fixture
def where(hf: Holdfast, standalone: Server) -> dict[str, str]:
    """Return the same server as environment variables."""
    return {"HOLDFAST_URL": standalone.url, "HOLDFAST_NAMESPACE": hf.namespace}


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 4), ("\n", 4), ("\x03", 4)])
def test_the_question(hf: Holdfast, where: dict[str, str], answer: str, code: int) -> None:
    """Change nothing unless the answer is yes, and exit with code 4."""
    enqueue_dead(hf, 2)
    question = "Drop 2 dead tasks of queue 'crowd' for good? [y/N]"
    got, shown = on_terminal(
        "queues", "purge", "crowd", "--dead", wait_for=re.escape(question), say=answer, **where
    )
    assert (got, question in shown) == (code, True), shown
    assert hf.queue("crowd").stats().dead == (0 if code == 0 else 2)
    end = "dropped 2 dead tasks" if code == 0 else "nothing was changed"
    assert end in shown


def test_yes_is_not_asked(hf: Holdfast, where: dict[str, str]) -> None:
    """Ask nothing with `--yes` on a terminal."""
    enqueue_dead(hf, 1)
    code, shown = on_terminal("tasks", "replay", "crowd", "--yes", **where)
    assert (code, shown) == (0, "replayed 1 dead task of queue 'crowd'\n")


def test_a_pipe_cannot_answer(hf: Holdfast, where: dict[str, str]) -> None:
    """Change nothing and do not hang if a script forgets `--yes`."""
    enqueue_dead(hf, 1)
    result = holdfast("tasks", "replay", "crowd", **where)
    assert (result.returncode, result.stdout) == (4, "")
    assert "add --yes" in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize("command", ["queues ls --json", "queues", "top --once", "--help"])
def test_a_full_disk_is_a_failure(hf: Holdfast, where: dict[str, str], command: str) -> None:
    """Print one line, and no traceback."""
    enqueue_dead(hf, 1)
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "holdfast", *command.split()],
            env=clean() | where,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    said = "holdfast: the output cannot be written: No space left on device\n"
    assert (result.returncode, result.stderr) == (1, said)


def test_colours_are_for_terminals_that_want_them(hf: Holdfast, where: dict[str, str]) -> None:
    """Use no colours in pipes and with NO_COLOR, also for errors."""
    red = "\x1b[31m"
    commands = ["tasks", "ls", "crowd"], ["queues", "show", "crwd"], ["top", "--once"]
    with filled_queue(hf):
        for command in commands:
            assert red in on_terminal(*command, **where)[1]
            assert red not in on_terminal(*command, NO_COLOR="1", **where)[1]
            piped = holdfast(*command, **where)
            assert "\x1b" not in piped.stdout + piped.stderr


def test_arguments_are_cut_at_the_edge(hf: Holdfast, where: dict[str, str]) -> None:
    """Cut them to one line in a list."""
    hf.enqueue(note.call("x" * 500))
    _, shown = on_terminal("tasks", "ls", "crowd", NO_COLOR="1", **where)
    assert f'      ("{"x" * 71}…\n' in shown


def test_eighty_columns_are_enough(hf: Holdfast, where: dict[str, str]) -> None:
    """Fold long lines on a terminal, and keep them whole in a pipe."""
    with filled_queue(hf):
        hf.queue("q" * 100).pause()
        for command in (
            ["queues"], ["queues", "show", "crowd"], ["tasks", "ls", "crowd"],
            ["tasks", "show", "crowd", "dead-1"],
        ):  # fmt: skip
            code, shown = on_terminal(*command, NO_COLOR="1", **where)
            bare = shown.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
            assert (code, max(map(len, bare.splitlines())) <= 80) == (0, True), bare
        assert "q" * 100 in holdfast("queues", **where).stdout
