"""`holdfast server …`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast.cli.server import app
from holdfast.server import EmbeddedServer, status

run = CliRunner().invoke


def test_start_status_stop(folder: Path) -> None:
    """A server from its start to its end, with the exit codes that scripts rely on."""
    started = run(app, ["start", str(folder)])
    assert started.exit_code == 0
    assert f"unix://{folder}/valkey.sock" in started.output
    seen = run(app, ["status", str(folder)])
    assert seen.exit_code == 0
    assert "running" in seen.output
    assert run(app, ["stop", str(folder)]).exit_code == 0
    seen = run(app, ["status", str(folder)])
    assert seen.exit_code == 3
    assert "not running" in seen.output


def test_status_as_json(folder: Path) -> None:
    with EmbeddedServer.open(folder):
        shown = json.loads(run(app, ["status", "--json", str(folder)]).output)
        assert shown["running"] is True
        assert shown["pid"] == status(folder).pid
        assert len(shown["users"]) == 1
    answer = run(app, ["status", "--json", str(folder)])
    assert answer.exit_code == 3
    assert json.loads(answer.output)["running"] is False


def test_stop_needs_force_while_the_server_is_in_use(folder: Path) -> None:
    with EmbeddedServer.open(folder):
        refused = run(app, ["stop", str(folder)])
        assert refused.exit_code == 4
        assert "force" in refused.output
        assert run(app, ["stop", "--force", str(folder)]).exit_code == 0


def test_the_folder_may_come_from_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDED", str(folder))
    answer = run(app, ["status"])
    assert answer.exit_code == 3
    assert str(folder) in answer.output
