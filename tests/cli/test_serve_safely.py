"""Test the security of `holdfast serve`: secrets, revocation, hosts, contents that are left out."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

import pytest
from playwright.sync_api import expect

from cli.test_serve import address, get, invoke, serving
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast.web import Tokens
from web.browsers import launched

__all__ = ["serving"]  # a fixture


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a file with a secret that the command made."""
    path = tmp_path / "secret"
    assert invoke("secret", path).exit_code == 0
    return path


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_secret_is_only_its_owners(tmp_path: Path, umask: int) -> None:
    """Write it for the owner only, with any umask; never print it."""
    path, before = tmp_path / "secret", os.umask(umask)
    try:
        result = invoke("secret", path)
    finally:
        os.umask(before)
    assert result.exit_code == 0, result.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text().strip()) == 64
    assert path.read_text().strip() not in result.output
    assert invoke("token", "jill", "--secret-file", path, "--bare").stdout.startswith("hf1.")


def test_a_secret_replaces_nothing(tmp_path: Path) -> None:
    """Replace no file, follow no link, create no folder."""
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("mine")
    link.symlink_to(tmp_path / "elsewhere")
    for where in (path, link, tmp_path / "nowhere" / "secret"):
        result = invoke("secret", where)
        assert (result.exit_code, "cannot be written" in result.stderr) == (1, True)
    assert path.read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_secret_may_be_any_bytes() -> None:
    """Take the bytes of the variable, whether or not they are text."""
    secret = secrets.token_bytes(60).replace(b"\0", b"") + b"\xff"
    made = invoke("token", "jill", "--bare", HOLDFAST_SECRET=os.fsdecode(secret))
    assert Tokens(secret).user(made.stdout.strip()) == "jill"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o610])
def test_a_secret_that_others_reach_is_refused(secret: Path, mode: int) -> None:
    """Refuse it in each command, before anything is served."""
    secret.chmod(mode)
    for args in (["token", "jill"], ["pass", "ann"], ["--url", "redis://127.0.0.1:1"]):
        result = invoke(*args, "--secret-file", secret)
        assert (result.exit_code, "chmod 600" in result.stderr) == (2, True)
        assert secret.read_text().strip() not in result.output
    secret.chmod(0o400)
    assert invoke("token", "jill", "--secret-file", secret).exit_code == 0


@pytest.mark.parametrize("text", ["a" * 32, "ab" * 20, "0123456789abcdef" * 2])
def test_a_secret_that_can_be_guessed_is_refused(secret: Path, text: str) -> None:
    """Refuse it in the variable too, and do not print it."""
    secret.write_text(text)
    for result in (
        invoke("token", "jill", "--secret-file", secret),
        invoke("token", "jill", HOLDFAST_SECRET=text),
    ):
        assert (result.exit_code, "must be random" in result.stderr) == (2, True)
        assert text not in result.output


@pytest.mark.parametrize(
    "host",
    [
        "",
        " ",
        "a b",
        "http://chat.example.org",
        "chat.example.org/",
        "chat:port",
        "chat:99999",
        "[",
        "[::1",
        "-x.org",
        "x..org",
        "*.example.org",
        "bücher.example",
        "1.2.3.999",
        "x" * 300,
    ],
)
def test_invalid_hosts_are_refused(host: str) -> None:
    """Refuse them: they allow no host, or any malformed one."""
    result = invoke("--allow-host", host, "--url", "redis://127.0.0.1:1")
    assert (result.exit_code, "is not a host" in result.stderr) == (2, True)


@pytest.mark.parametrize("proxy", ["", "*", "nginx", "10.0.0.0/99", "http://10.0.0.1"])
def test_invalid_proxies_are_refused(proxy: str) -> None:
    """Refuse them: no header of theirs would count."""
    result = invoke("--proxy", proxy, "--url", "redis://127.0.0.1:1")
    assert (result.exit_code, "neither an address nor a network" in result.stderr) == (2, True)


def test_tokens_are_revoked_while_it_serves(
    serving: Process, standalone: Server, secret: Path, tmp_path: Path
) -> None:
    """Refuse them within a second."""
    url = f"{address(serving)}/v1/mailbox"
    made = [
        invoke("token", user, "--secret-file", secret, "--bare").stdout.strip()
        for user in ("jill", "jack")
    ]
    codes = lambda: [  # noqa: E731
        get(url, headers={"Authorization": f"Bearer {each}"}).status_code for each in made
    ]
    assert codes() == [200, 200]
    result = invoke("revoke", "jill", "--url", standalone.url, "--namespace", tmp_path.name)
    assert (result.exit_code, "of 'jill'" in result.stdout) == (0, True)
    eventually(lambda: codes() == [401, 200])
    empty = invoke("revoke", "", "--url", standalone.url, "--namespace", tmp_path.name)
    assert empty.exit_code == 2


def test_contents_are_left_out(standalone: Server, secret: Path, tmp_path: Path) -> None:
    """Leave them out of the dashboard's JSON with `--no-arguments`."""
    where = ["--url", standalone.url, "--namespace", tmp_path.name, "--secret-file", str(secret)]
    with Holdfast.from_url(standalone.url, namespace=tmp_path.name) as hf:
        hf.mailbox("jack").send("private", sender="jill")
    made = invoke("pass", "ann", "--bare", "--secret-file", secret).stdout.strip()
    argv = ("-m", "holdfast", "serve", "--port", "0", "--no-arguments", *where)
    with Process.python(*argv) as one:
        eventually(lambda: " serves " in one.output or not one.is_running)
        headers = {"Authorization": f"Bearer {made}"}
        page = get(f"{address(one)}/dashboard/mailbox.json?name=jack", headers=headers)
    assert (page.status_code, "private" in page.text) == (200, False)


def test_a_link_asks_before_it_replaces_a_session(serving: Process, secret: Path) -> None:
    """Show who is logged in, and wait for the button."""
    url = f"{address(serving)}/dashboard"
    ann, eve = (
        invoke("pass", name, "--bare", "--secret-file", secret).stdout.strip()
        for name in ("ann", "eve")
    )
    with launched() as browser, browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{url}/login#token={ann}")
        expect(page.locator("body")).to_contain_text("ann")
        page.goto(f"{url}/login#token={eve}")
        expect(page.locator("#present")).to_contain_text("You are logged in as ann")
        assert "token" not in page.url
        other = context.new_page()
        other.goto(f"{url}/")
        expect(other.locator("body")).to_contain_text("ann")
        page.click("#login button")
        expect(page.locator("body")).to_contain_text("eve")
