"""The documented configuration of nginx, as it is: TLS, cookies, streams, addresses."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import trustme
from websockets.sync.client import connect

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Limit
from holdfast.web import Limits
from web.gateway.test_stream import Device
from web.running import RunningApp, opened

NAME = "chat.example.org"
GATEWAY = Path(__file__).parents[3] / "docs" / "gateway.md"

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {server}
}}
"""


def documented() -> str:
    """Return the nginx configuration in the documentation."""
    [found] = re.findall(r"```nginx\n(.*?)```", GATEWAY.read_text(encoding="utf-8"), re.DOTALL)
    return str(found)


@contextmanager
def nginx(folder: Path, live: RunningApp, server: str) -> Iterator[tuple[int, ssl.SSLContext]]:
    """Start nginx in front of a gateway; return its port, and a context that trusts it."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("no nginx: run `apt install nginx-light`")
    authority = trustme.CA()
    certificate = authority.issue_cert(NAME)
    certificate.private_key_and_cert_chain_pem.write_to_path(folder / "all.pem")
    server = server.replace("127.0.0.1:8000", live.host)
    server = re.sub(r"(ssl_certificate(_key)?) \S+;", rf"\1 {folder}/all.pem;", server)
    port, process = listening(program, folder, server)
    try:
        context = ssl.create_default_context()
        authority.configure_trust(context)
        yield port, context
    finally:
        process.terminate()
        process.wait(60)


def listening(program: str, folder: Path, server: str) -> tuple[int, subprocess.Popen[bytes]]:
    """Start nginx on a free port, and on another one if a program has taken it meanwhile."""
    path, errors, has_ports = folder / "nginx.conf", folder / "error.log", folder / "pid"
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        here = server.replace("443 ssl", f"127.0.0.1:{port} ssl")
        path.write_text(CONFIGURATION.format(folder=folder, server=here))
        process = subprocess.Popen([program, "-e", errors, "-p", folder, "-c", path])
        eventually(lambda: has_ports.exists() or process.poll() is not None)  # noqa: B023
        if process.poll() is None:
            return port, process
    raise AssertionError(errors.read_text())


class Browser:
    """What a browser does: it sends its origin, and keeps cookies."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self.host = f"{NAME}:{port}"
        self.origin = f"https://{self.host}"
        transport = httpx.HTTPTransport(verify=context)
        self._client = httpx.Client(transport=transport, base_url=f"https://127.0.0.1:{port}")

    def ask(self, method: str, path: str, **options: object) -> httpx.Response:
        headers = {"Host": self.host, "Accept": "text/html", "Origin": self.origin}
        headers |= options.pop("headers", {})  # type: ignore[arg-type]
        extensions = {"sni_hostname": NAME}
        return self._client.request(  # type: ignore[misc]
            method, path, headers=headers, extensions=extensions, **options
        )

    def close(self) -> None:
        self._client.close()


@pytest.fixture(params=["documented", "silent"])
def browser(
    standalone: Server, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Browser, RunningApp, bool]]:
    """Open a browser behind nginx; return whether nginx passes on the scheme of the request."""
    is_told = request.param == "documented"
    server = documented()
    assert "X-Forwarded-Proto $scheme" in server
    if not is_told:
        server = re.sub(r".*X-Forwarded-Proto.*\n", "", server)
    proxies = ["127.0.0.1"] if is_told else []
    with (
        opened(standalone.url, tmp_path.name, hosts=[NAME], proxies=proxies) as live,
        nginx(tmp_path, live, server) as (port, context),
    ):
        browser = Browser(port, context)
        yield browser, live, is_told
        browser.close()


def test_cookies_are_for_tls_only(browser: tuple[Browser, RunningApp, bool]) -> None:
    """That of the pass and that of the last action; no other host can set them."""
    one, live, is_told = browser
    live.hf.queue("email").pause()
    made = live.passes.issue("ann", "operator")
    answer = one.ask("POST", "/dashboard/login", data={"pass": made})
    assert answer.status_code == 303
    [cookie] = answer.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-holdfast_pass=hf1.")
    assert set(cookie.lower().split("; ")[1:]) == {"httponly", "path=/", "samesite=lax", "secure"}
    assert ("strict-transport-security" in answer.headers) == is_told
    pair = {"Cookie": cookie.partition(";")[0]}
    done = one.ask("POST", "/dashboard/queue/pause", data={"queue": "email"}, headers=pair)
    assert done.status_code == 303, done.text
    [flash] = done.headers.get_list("set-cookie")
    assert flash.startswith("__Host-holdfast_flash=")
    assert "; secure" in flash.lower()
    both = {"Cookie": "; ".join(each.partition(";")[0] for each in (cookie, flash))}
    page = one.ask("GET", "/dashboard/queues", headers=both)
    assert (page.status_code, "email" in page.text) == (200, True)
    forgotten = one.ask("POST", "/dashboard/logout", headers=pair).headers.get_list("set-cookie")
    assert any(each.startswith('__Host-holdfast_pass=""; ') for each in forgotten)


def test_only_its_own_origin_may_change_something(
    browser: tuple[Browser, RunningApp, bool],
) -> None:
    """Another scheme is another origin."""
    one, live, is_told = browser
    token = {"Authorization": f"Bearer {live.tokens.issue('jill')}"}

    def send(origin: str) -> int:
        headers = {**token, "Origin": origin}
        return one.ask("POST", "/v1/mailboxes/jack", json=1, headers=headers).status_code

    assert send(one.origin) == 201
    assert send(f"https://{NAME}") == 403
    if is_told:
        assert send(one.origin.replace("https", "http")) == 403


def test_streams_pass_through(browser: tuple[Browser, RunningApp, bool]) -> None:
    """From a page of the same origin."""
    one, live, _ = browser
    port, context = int(one.host.partition(":")[2]), ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), 60) as line,
        connect(
            f"wss://{one.host}/v1/stream", sock=line, ssl=context, origin=one.origin, proxy=None
        ) as opened_line,
    ):
        jill = Device(opened_line)
        jill.say(type="hello", token=live.tokens.issue("jill"))
        jill.hear("welcome")
        live.hf.mailbox("jill").send("hello", sender="jack")
        assert jill.hear("batch")["messages"][0]["body"] == "hello"


def test_clients_have_their_own_addresses(standalone: Server, tmp_path: Path) -> None:
    """That of the proxy has no rate; and what a client says of its address is not believed."""
    limits = Limits(address=Limit(3, per=3_000), connections=2)
    with (
        opened(standalone.url, tmp_path.name, limits, hosts=[NAME], proxies=["127.0.0.1"]) as live,
        nginx(tmp_path, live, documented().replace("$remote_addr", "192.0.2.7")) as (
            port,
            context,
        ),
    ):
        one = Browser(port, context)
        codes = [
            one.ask("GET", "/chat", headers={"X-Forwarded-For": f"192.0.2.{n}"}).status_code
            for n in range(4)
        ]
        one.close()
        assert codes == [200, 200, 200, 429]
        local = {"Host": NAME, "X-Forwarded-For": "192.0.2.8"}
        assert live.of(None, **local).get("/chat").status_code == 200
