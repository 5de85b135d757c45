"""`holdfast serve`, as a person runs it."""

from __future__ import annotations

import asyncio
import html
import os
import re
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from starlette.requests import HTTPConnection
from typer.testing import CliRunner, Result

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast.cli.app import app
from holdfast.web import Passes, Tokens, Visitor

get, post = (partial(each, timeout=60.0) for each in (httpx.get, httpx.post))

CLEAN = {"HOLDFAST_SECRET": None, "HOLDFAST_SECRET_FILE": None, "HOLDFAST_URL": None}


def invoke(*args: str | Path, **env: str) -> Result:
    return CliRunner(env=CLEAN | env).invoke(app, ["serve", *map(str, args)])


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(secrets.token_hex() + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def serving(standalone: Server, tmp_path: Path, secret: Path) -> Iterator[Process]:
    """Yield a gateway on a free port, with the secret of a file; SIGTERM must end it well."""
    args = ["--url", standalone.url, "--namespace", tmp_path.name, "--secret-file", str(secret)]
    with Process.python("-m", "holdfast", "serve", "--port", "0", "--user", "jill", *args) as one:
        eventually(lambda: "#token=" in one.output or not one.is_running)
        yield one
        if one.is_running:  # SIGTERM ends it with code 0, too
            one.terminate()
            assert one.wait(60) == 0


def address(process: Process) -> str:
    """Return the URL that the gateway printed."""
    [found] = re.findall(r"^(http://\S+) serves", process.output, re.MULTILINE)
    return str(found)


def test_a_gateway_from_its_first_line_to_its_last(serving: Process, secret: Path) -> None:
    """Print the URL, accept tokens of the command, and end by Ctrl-C with code 0."""
    url = address(serving)
    assert re.search(rf"^jill: {url}/chat#token=hf1\.", serving.output, re.MULTILINE)
    made = invoke("token", "jack", "--secret-file", secret, "--bare")
    assert (made.exit_code, made.stderr) == (0, "")
    headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
    assert get(f"{url}/v1/mailbox/status", headers=headers).json()["unread"] == 0
    assert get(f"{url}/v1/mailbox/status").status_code == 401
    os.kill(serving.pid, signal.SIGINT)
    eventually(lambda: not serving.is_running)
    assert serving.returncode == 0
    assert serving.output.endswith("stopped\n")
    assert made.stdout.strip() not in serving.output


def test_a_token_is_printed_as_a_link(secret: Path) -> None:
    """Put the token into the fragment, which browsers never send."""
    result = invoke("token", "jill", "--secret-file", secret, "--at", "https://chat.example.org/")
    link, _, token = result.stdout.strip().partition("#token=")
    assert link == "https://chat.example.org/chat"
    assert Tokens(secret.read_text().strip().encode()).user(token) == "jill"


def test_a_pass_for_the_dashboard_is_printed_as_a_link(secret: Path) -> None:
    """Print it for the given role; the default is viewer."""
    for role, args in {"viewer": [], "operator": ["--role", "operator"]}.items():
        result = invoke("pass", "ann", "--secret-file", secret, *args)
        link, _, made = result.stdout.strip().partition("#token=")
        assert link == "http://127.0.0.1:8000/dashboard/login"
        passes = Passes(secret.read_text().strip().encode())
        connection = HTTPConnection({"type": "http", "headers": []})
        assert asyncio.run(passes.visitor_of(made, connection)) == Visitor("ann", role)
    assert invoke("pass", "ann", "--bare", "--secret-file", secret).stdout.startswith("hf1.")
    wrong = invoke("pass", "ann", "--role", "king", "--secret-file", secret)
    assert (wrong.exit_code, "role must be one of viewer, operator" in wrong.stderr) == (2, True)


def test_the_dashboard_is_beside_the_gateway(
    serving: Process, standalone: Server, secret: Path, tmp_path: Path
) -> None:
    """Redirect `/` to it; show messages; log actions on standard error."""
    with Holdfast.from_url(standalone.url, namespace=tmp_path.name) as hf:
        hf.mailbox("jack").send("private", sender="jill")
    url = address(serving)
    assert get(f"{url}/").headers["location"] == "/dashboard/"
    assert get(f"{url}/dashboard").headers["location"] == "/dashboard/"
    hint = rf"{url}/dashboard/; for a link with a pass: holdfast serve (pass YOU .*)"
    [command] = re.findall(hint, serving.output)
    assert invoke(*command.split()).stdout.startswith(f"{url}/dashboard/login#token=")
    page = html.unescape(get(f"{url}/dashboard/login").text)
    [command] = re.findall(r"<code>holdfast serve (pass YOU [^<]+)</code>", page)
    words = shlex.split(command.replace("\\\n", "").replace("FILE", str(secret)))
    assert "/dashboard/login#token=" in invoke(*words).stdout
    page = html.unescape(get(f"{url}/chat").text)
    [command] = re.findall(r"<code>holdfast serve (token YOU[^<]*)</code>", page)
    words = shlex.split(command.replace("FILE", str(secret)))
    assert "/chat#token=" in invoke(*words).stdout
    made = invoke("pass", "ann", "--role", "operator", "--bare", "--secret-file", secret)
    headers = {"Authorization": f"Bearer {made.stdout.strip()}", "Accept": "application/json"}
    assert get(f"{url}/dashboard/overview.json", headers=headers).json()["queues"] == 0
    assert "private" in get(f"{url}/dashboard/mailbox.json?name=jack", headers=headers).text
    assert 'holdfast_units{kind="queue"} 0.0' in get(f"{url}/metrics", headers=headers).text
    done = post(f"{url}/dashboard/queue/pause", headers=headers, json={"queue": "email"})
    assert done.status_code == 200
    eventually(lambda: 'ann (operator) queue/pause {"queue":"email"}' in serving.output)


def test_a_run_without_a_secret_prints_a_link_to_its_dashboard(standalone: Server) -> None:
    """Print a pass that ends with the run."""
    args = ["serve", "--port", "0", "--url", standalone.url]
    with Process.python("-m", "holdfast", *args) as one:
        eventually(lambda: "dashboard: " in one.output or not one.is_running)
        [token] = re.findall(
            r"^dashboard: \S+/dashboard/login#token=(\S+)$", one.output, re.MULTILINE
        )
        seen = get(
            f"{address(one)}/dashboard/server.json", headers={"Authorization": f"Bearer {token}"}
        )
        assert seen.status_code == 200


def test_it_serves_a_diagnosis_while_there_is_no_server(secret: Path) -> None:
    """Print a warning; show the page as soon as there is a server."""
    args = ["serve", "--port", "0", "--url", "redis://127.0.0.1:1", "--secret-file", str(secret)]
    with Process.python("-m", "holdfast", *args) as one:
        eventually(lambda: " serves namespace" in one.output or not one.is_running)
        assert "the dashboard shows this until the server is there" in one.output
        made = invoke("pass", "ann", "--bare", "--secret-file", secret).stdout.strip()
        headers = {"Authorization": f"Bearer {made}", "Accept": "text/html"}
        page = get(f"{address(one)}/dashboard/", headers=headers)
    assert (page.status_code, "The server does not answer" in page.text) == (503, True)


def test_the_secret_may_be_a_variable() -> None:
    """Accept the secret as containers pass it."""
    key = secrets.token_hex()
    result = invoke("token", "jill", "--bare", HOLDFAST_SECRET=key)
    assert Tokens(key.encode()).user(result.stdout.strip()) == "jill"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_other_machines_need_a_permanent_secret(host: str) -> None:
    """Refuse before the socket is opened."""
    result = invoke("--host", host, "--url", "redis://127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--secret-file" in result.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, "cannot be read: No such file"),
        ("", "holds no secret"),
        ("\n \n", "holds no secret"),
        ("short\n", "a secret of 5 bytes can be guessed"),
        (b"\xff\xfe", "must be text"),
    ],
)
def test_invalid_secrets_are_refused(tmp_path: Path, text: str | bytes | None, shown: str) -> None:
    """Print the command that makes a good secret, and never the secret."""
    path = tmp_path / "secret"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(0o600)
    for command in (["token", "jill"], []):
        result = invoke(*command, "--secret-file", path)
        assert result.exit_code == 2
        assert shown in result.stderr
        assert "short" not in result.stderr


def test_a_token_needs_the_secret_of_the_gateway() -> None:
    """Refuse to make a token with a secret that no gateway has."""
    result = invoke("token", "jill")
    assert (result.exit_code, "HOLDFAST_SECRET" in result.stderr) == (2, True)


@pytest.mark.parametrize("args", [["", "--lifetime", "60"], ["jill", "--lifetime", "0"]])
def test_impossible_tokens_are_refused(secret: Path, args: list[str]) -> None:
    """Refuse an empty user, and a lifetime of zero."""
    result = invoke("token", *args, "--secret-file", secret)
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_port_that_is_taken(standalone: Server) -> None:
    """Name the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = invoke("--port", port, "--url", standalone.url)
    assert result.exit_code == 1
    assert result.stderr == (
        f"holdfast: cannot listen on 127.0.0.1, port {port}: Address already in use\n"
    )


def test_a_server_that_does_not_answer(secret: Path) -> None:
    """Fail at the start, not at the first request."""
    result = invoke("--no-dashboard", "--port", "0", "--url", "redis://127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("holdfast: cannot use redis://127.0.0.1:1 (")


def test_options_of_a_command_come_after_it(secret: Path) -> None:
    """Refuse options before it: they would be dropped."""
    result = invoke("--port", "1", "token", "jill", "--secret-file", secret)
    assert (result.exit_code, "options come after the command" in result.stderr) == (2, True)


def test_without_its_extra_the_error_names_what_to_install() -> None:
    """Print a sentence, not a traceback."""
    hidden = "import sys; sys.modules['starlette'] = None; import holdfast.cli; holdfast.cli.main()"
    with Process(sys.executable, "-c", hidden, "serve", "--url", "redis://127.0.0.1:1") as process:
        eventually(lambda: not process.is_running)
    assert process.output.strip() == (
        "holdfast: the gateway and the dashboard need an extra: "
        "install `holdfast[web]` from where you got Holdfast"
    )
    assert process.returncode == 1
