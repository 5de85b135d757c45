"""`holdfast worker` at its start: what ends it, with which exit code, and what it says."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cli.worker_programs import CHORES, worker_program
from faults.fixtures import Encrypted
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry

SECRET = "open-sesame"

tasks = TaskRegistry()


@tasks.task(queue="chores")
def note(path: str, text: str) -> None:
    """Declare the task that the worker runs."""


# The server rejects it


@pytest.mark.sampled(2)
@pytest.mark.parametrize("problem", ["credentials", "permission", "tls", "no tls"])
def test_a_rejected_worker_ends_with_one_sentence(
    problem: str, standalone: Server, encrypted: Encrypted, tmp_path: Path
) -> None:
    tls_port = urlsplit(encrypted.url).port
    url, says = {
        "credentials": (f"redis://nobody:{SECRET}@127.0.0.1:{standalone.port}", "rejects the user"),
        "permission": (f"redis://poor:{SECRET}@127.0.0.1:{standalone.port}", "no right to HSET"),
        "tls": (f"rediss://127.0.0.1:{tls_port}", "CERTIFICATE_VERIFY_FAILED"),
        "no tls": (f"redis://127.0.0.1:{tls_port}", "use a rediss:// URL"),
    }[problem]
    rules = ("~*", "&*", "+@all", "-hset")
    standalone.execute("ACL", "SETUSER", "poor", "on", f">{SECRET}", *rules)
    with worker_program(tmp_path, url, "--quiet") as process:
        assert process.wait() == 4
    standalone.execute("ACL", "DELUSER", "poor")
    assert "Traceback" not in process.output
    # A busy machine may have been warned that loading the certificates blocks the loop.
    [line] = [line for line in process.output.splitlines() if " WARNING " not in line]
    assert line.startswith("holdfast: the worker cannot start: ")
    assert says in line
    assert f"127.0.0.1:{urlsplit(url).port}" in line
    assert SECRET not in line


def test_a_rejected_worker_does_not_log_that_it_serves(standalone: Server, tmp_path: Path) -> None:
    url = f"redis://nobody:{SECRET}@127.0.0.1:{standalone.port}"
    with worker_program(tmp_path, url) as process:
        assert process.wait() == 4
    assert " serves " not in process.output


def test_a_server_that_is_away_is_waited_for(tmp_path: Path) -> None:
    with Server() as server:
        server.stop()
        with worker_program(tmp_path, server.url, namespace="later") as process:
            process.wait_for_output("cannot claim tasks of queue 'chores' since ")
            server.start()
            process.wait_for_output("claims tasks again")
            with Holdfast.from_url(server.url, namespace="later") as hf:
                hf.enqueue(note.call(str(tmp_path / "noted"), "done"))
            eventually((tmp_path / "noted").exists)
            assert process.stop() == 0


# How it logs


def test_json_lines(standalone: Server, tmp_path: Path) -> None:
    with worker_program(tmp_path, standalone.url, "--log-format", "json") as process:
        process.wait_for_output("serves queue 'chores'")
        assert process.stop() == 0
    lines = [json.loads(line) for line in process.output.splitlines()]
    assert {line["logger"] for line in lines} == {"holdfast.worker"}
    assert {line["level"] for line in lines} == {"INFO"}
    assert all(line["time"].endswith("+00:00") for line in lines)
    assert any("has ended" in line["message"] for line in lines)


@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_a_file_configures_logging(suffix: str, standalone: Server, tmp_path: Path) -> None:
    """Loggers that exist already stay enabled, other than by default in `dictConfig`."""
    target, config = tmp_path / "worker.log", tmp_path / f"logging{suffix}"
    handler = {"class": "logging.FileHandler", "filename": str(target), "formatter": "f"}
    settings = {
        "version": 1,
        "formatters": {"f": {"format": "mine %(message)s"}},
        "handlers": {"file": handler},
        "root": {"level": "INFO", "handlers": ["file"]},
    }
    config.write_text(json.dumps(settings) if suffix == ".json" else as_toml(settings))
    with worker_program(tmp_path, standalone.url, "--log-config", str(config)) as process:
        eventually(lambda: target.exists() and "serves queue 'chores'" in target.read_text())
        assert process.stop() == 0
    assert all(line.startswith("mine ") for line in target.read_text().splitlines())
    assert process.output == ""


def as_toml(settings: dict[str, object], path: str = "") -> str:
    """Return *settings* as TOML."""
    lines = [f"{k} = {json.dumps(v)}" for k, v in settings.items() if not isinstance(v, dict)]
    tables = {k: v for k, v in settings.items() if isinstance(v, dict)}
    texts = [f"[{path}{k}]\n{as_toml(v, f'{path}{k}.')}" for k, v in tables.items()]
    return "\n".join([*lines, *texts])


CONFIGURED = f"""
import logging, sys
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("app: %(message)s"))
logging.getLogger().addHandler(handler)
logging.getLogger().setLevel(logging.INFO)
{CHORES}
"""


def test_logging_of_the_application_stays_as_it_is(standalone: Server, tmp_path: Path) -> None:
    args = ("--log-format", "json")
    with worker_program(tmp_path, standalone.url, *args, chores=CONFIGURED) as process:
        process.wait_for_output("serves queue 'chores'")
        assert process.stop() == 0
    warned, *lines = process.output.splitlines()
    assert warned == "holdfast: --log-format has no effect: the application configures logging"
    assert lines
    assert all(line.startswith("app: ") for line in lines)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "text", "code", "says"),
    [
        ("absent.json", None, 2, "No such file or directory"),
        ("broken.json", "{", 2, "cannot read --log-config"),
        ("list.json", "[1]", 2, "holds no table of settings"),
        ("log.ini", "[loggers]", 2, "neither a .json nor a .toml file"),
        ("wrong.json", '{"root": {"handlers": ["nobody"]}}', 1, "cannot configure logging"),
        ("version.json", '{"version": 7}', 1, "Unsupported version: 7"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    name: str, text: str | None, code: int, says: str, standalone: Server, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with worker_program(tmp_path, standalone.url, "--log-config", name) as process:
        assert process.wait() == code
    assert says in process.output
    assert name in process.output
    assert "Traceback" not in process.output


@pytest.mark.parametrize(
    "other", [("--quiet",), ("--log-format", "text")], ids=lambda args: args[0]
)
def test_options_that_contradict_each_other(
    other: tuple[str, ...], standalone: Server, tmp_path: Path
) -> None:
    args = ("--log-config", "log.json", *other)
    with worker_program(tmp_path, standalone.url, *args) as process:
        assert process.wait() == 2
    assert f"without {other[0]}" in process.output


def test_a_record_as_json_keeps_what_it_was_given() -> None:
    """Escape everything that is not ASCII: no text can begin a line of its own."""
    from holdfast.cli.log_output import JsonFormatter

    given = {
        "name": "app",
        "levelname": "ERROR",
        "msg": "odd\n\u202e%s",
        "args": ("x",),
        "order": 7,
    }
    record = logging.makeLogRecord(given)
    error = ValueError("no")
    record.exc_info = (ValueError, error, None)
    line = JsonFormatter().format(record)
    assert line.isascii()
    assert line.isprintable()
    fields = json.loads(line)
    assert (fields["message"], fields["order"]) == ("odd\n\u202ex", 7)
    assert fields["exception"] == "ValueError: no"
