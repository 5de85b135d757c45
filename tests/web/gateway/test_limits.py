"""How much one may ask: rates, sizes, waiting."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from select import select

import pytest
from starlette.requests import HTTPConnection

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Limit
from holdfast.web import Limits
from holdfast.web.token_buckets import TokenBuckets
from web.running import RunningApp, opened

SLOW = Limit(5, per=500.0)


@pytest.fixture
def url(standalone: Server) -> str:
    return standalone.url


def test_a_bucket_fills_again() -> None:
    """Fill it in the period of the limit, and no further than its amount."""
    now = [0.0]
    buckets = TokenBuckets(Limit(3, per=1.5), lambda: now[0])
    assert [buckets.take("jill") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert buckets.take("jack") == 0.0
    now[0] = 0.5
    assert [buckets.take("jill") for _ in range(2)] == [0.0, 0.5]
    now[0] = 1000.0
    assert [buckets.take("jill") for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_users_have_a_rate(url: str) -> None:
    """Each one's own; the answer says when to come again."""
    with opened(url, "limits-user", Limits(user=SLOW)) as live:
        jill, jack = live.of("jill"), live.of("jack")
        codes = [jill.get("/v1/mailbox").status_code for _ in range(7)]
        assert codes == [200] * 5 + [429] * 2
        answer = jill.get("/v1/mailbox")
        assert answer.json()["type"] == "urn:holdfast:problem:too-many-requests"
        assert int(answer.headers["retry-after"]) >= 1
        assert jack.get("/v1/mailbox").status_code == 200


def test_addresses_have_a_rate(url: str) -> None:
    """The rate of an address counts the requests of all its users, to any path."""
    with opened(url, "limits-address", Limits(address=SLOW)) as live:
        codes = [live.of(f"user{n}").get("/v1/mailbox").status_code for n in range(4)]
        codes += [live.of(None).get(path).status_code for path in ("/chat", "/", "/nowhere")]
        assert codes == [200] * 4 + [200, 429, 429]


@pytest.mark.parametrize(
    ("proxies", "codes"), [(["127.0.0.1"], [200] * 7), ([], [200] * 5 + [429] * 2)]
)
def test_only_a_proxy_sets_the_client_address(
    url: str, proxies: list[str], codes: list[int]
) -> None:
    """Anybody else could give itself a new address with each request."""
    limits = Limits(address=SLOW)
    with opened(url, f"limits-proxy-{len(proxies)}", limits, proxies=proxies) as live:
        found = [
            live.of("jill", **{"X-Forwarded-For": f"192.0.2.{n}"}).get("/v1/mailbox").status_code
            for n in range(7)
        ]
        assert found == codes


def test_wrong_tokens_are_tried_only_so_often(url: str) -> None:
    """Those who have a right one are not locked out by it."""
    with opened(url, "limits-failures", Limits(failures=SLOW)) as live:
        wrong = live.of(None, Authorization="Bearer hf1.x.y")
        assert [wrong.get("/v1/mailbox").status_code for _ in range(7)] == [401] * 5 + [429] * 2
        assert live.of("jill").get("/v1/mailbox").status_code == 200


def test_a_body_over_the_limit_is_refused(url: str) -> None:
    """Whether its size is announced or not; nothing of it is kept."""
    with opened(url, "limits-size", Limits(request_bytes=1000)) as live:
        jill, octets = live.of("jill"), {"Content-Type": "application/octet-stream"}
        send = lambda body: jill.post("/v1/mailboxes/jack", content=body, headers=octets)  # noqa: E731
        assert send(b"x" * 1000).status_code == 201
        for body in (b"x" * 1001, b"x" * 5_000_000, iter([b"x" * 600, b"x" * 600])):
            answer = send(body)
            assert answer.status_code == 413
            assert answer.json()["type"] == "urn:holdfast:problem:too-large"
        assert jill.get("/v1/mailbox").status_code == 200
        assert live.hf.mailbox("jack").status().unread == 1


def test_a_body_is_refused_before_it_is_there(url: str) -> None:
    """Who announces a gigabyte is answered at once; who never ends is cut at the limit."""
    with opened(url, "limits-early", Limits(request_bytes=1000)) as live:
        token = live.tokens.issue("jill")
        head = (
            f"POST /v1/mailboxes/jack HTTP/1.1\r\nHost: {live.host}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: image/png\r\n"
        )
        for rest in (
            "Content-Length: 1000000000\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n" + "400\r\n" + "x" * 1024 + "\r\n",
        ):
            with socket.create_connection(("127.0.0.1", live.port), 60) as line:
                line.sendall((head + rest).encode())
                assert line.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_a_message_over_the_limit_of_messages_is_refused(url: str) -> None:
    """The request may be larger, as base64 takes more."""
    with opened(url, "limits-message") as live:
        answer = live.of("jill").post("/v1/mailboxes/jack", json="x" * ((1 << 20) + 1))
        assert (answer.status_code, "limit" in answer.json()["detail"]) == (413, True)


def test_only_so_many_wait(url: str) -> None:
    """Limit the waiting long polls; a client that disconnects makes room."""
    with opened(url, "limits-waiting", Limits(waiting=2)) as live:
        lines, jill = polls(live, "jill", 2), live.of("jill")
        assert live.of("jack").get("/v1/mailbox?timeout=0.01").status_code == 200
        assert jill.get("/v1/mailbox").status_code == 200
        lines[0].close()
        eventually(lambda: jill.get("/v1/mailbox?timeout=0.01").status_code == 200)
        lines[1].close()


def poll(live: RunningApp, user: str) -> socket.socket:
    """Start a long poll, and return its connection."""
    line = socket.create_connection(("127.0.0.1", live.port), 60)
    line.sendall(
        f"GET /v1/mailbox?timeout=60 HTTP/1.1\r\nHost: {live.host}\r\n"
        f"Authorization: Bearer {live.tokens.issue(user)}\r\n\r\n".encode()
    )
    return line


def polls(live: RunningApp, user: str, number: int) -> list[socket.socket]:
    """Start as many long polls as the user may have, and return their connections."""
    lines, probe = [poll(live, user) for _ in range(number)], live.of(user)

    def are_waiting() -> bool:
        for i, line in enumerate(lines):
            if select([line], [], [], 0)[0]:  # the probe had its place, so it was refused
                line.close()
                lines[i] = poll(live, user)
        return probe.get("/v1/mailbox?timeout=0.01").status_code == 429

    eventually(are_waiting)
    return lines


def test_who_waits_is_answered_when_the_gateway_ends(url: str) -> None:
    """At once, and with nothing; not with an error."""
    with opened(url, "limits-end", Limits(waiting=1)) as live:
        [line] = polls(live, "jill", 1)
    assert line.recv(4096).startswith(b"HTTP/1.1 200 ")
    line.close()


class Cookies:
    """An authenticator of an application's own."""

    async def user_of(self, token: str | None, connection: HTTPConnection) -> str | None:
        """Return the user in a cookie; a real application signs it."""
        return connection.cookies.get("user")


@pytest.fixture
def cookies(url: str) -> Iterator[RunningApp]:
    with opened(url, "limits-cookies", authenticator=Cookies()) as live:
        yield live


def test_an_application_says_who_its_users_are(cookies: RunningApp) -> None:
    """And pages of other sites cannot use what the browser sends by itself."""
    jill = cookies.of(None, Cookie="user=jill")
    assert jill.get("/v1/mailbox").status_code == 200
    assert cookies.of(None).get("/v1/mailbox").status_code == 401
    evil = cookies.of(None, Cookie="user=jill", Origin="https://evil.test")
    assert evil.post("/v1/mailboxes/jack", json="hi").status_code == 403
    own = cookies.of(None, Cookie="user=jill", Origin=cookies.url)
    assert own.post("/v1/mailboxes/jack", json="hi").status_code == 201


def test_the_page_allows_only_its_own_scripts(url: str) -> None:
    """Each answer has another nonce, and nothing is framed or loaded from elsewhere."""
    with opened(url, "limits-page") as live:
        client = live.of(None)
        nonces = set()
        for _ in range(2):
            page = client.get("/chat")
            policy = page.headers["content-security-policy"]
            [nonce] = set(re.findall(r"'nonce-([^']+)'", policy))
            assert page.text.count(f'nonce="{nonce}"') == 2
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            nonces.add(nonce)
        assert len(nonces) == 2
        assert client.get("/").headers["location"] == "/chat"
    with opened(url, "limits-page", try_page=False) as live:
        assert live.of(None).get("/chat").status_code == 404


def test_hosts_are_those_that_are_named(url: str) -> None:
    """And no others; `*` leaves it to whatever stands before the gateway."""
    hosts = {"chat.example.org": 200, "CHAT.example.org:443": 200, "localhost": 421}
    with opened(url, "limits-hosts", hosts=["chat.example.org"]) as live:
        for host, code in hosts.items():
            assert live.of("jill", Host=host).get("/v1/mailbox").status_code == code
    with opened(url, "limits-hosts", hosts=["*"]) as live:
        assert live.of("jill", Host="anything.test").get("/v1/mailbox").status_code == 200
