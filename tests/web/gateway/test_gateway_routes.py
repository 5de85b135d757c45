"""Over all routes: who may come in, who reads what, which methods change something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from faults.servers import Server
from holdfast import Limit
from holdfast.web import Limits
from holdfast.web.gateway import chat_routes, inbox_routes, mailbox_routes
from web.running import RunningApp, opened

SECRET_TEXT = "for members only"

BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/v1/mailbox/ack"): {"json": {"position": "1:1"}},
    ("POST", "/v1/mailboxes/{user}"): {"json": "hi"},
    ("POST", "/v1/inbox/ack"): {"json": {"chat": "{chat}", "position": "1:1"}},
    ("POST", "/v1/inbox/ack-all"): {"json": {"positions": {"{chat}": "1:1"}}},
    ("POST", "/v1/chats"): {"json": {"members": [], "body": "hi"}},
    ("POST", "/v1/chats/{chat}/messages"): {"json": "hi"},
    ("POST", "/v1/chats/{chat}/members"): {"json": {"user": "eve"}},
    ("DELETE", "/v1/chats/{chat}/members/me"): {},
}
"""What each request that changes something takes."""

ROUTES: list[Route] = [*mailbox_routes.ROUTES, *inbox_routes.ROUTES, *chat_routes.ROUTES]
REQUESTS = [
    (method, route.path)
    for route in ROUTES
    for method in sorted((route.methods or set()) - {"HEAD"})
]
READING = [request for request in REQUESTS if request[0] == "GET"]
WRITING = [request for request in REQUESTS if request[0] != "GET"]
OF_A_CHAT = [each for each in REQUESTS if "{chat}" in each[1] or "{chat}" in str(BODIES.get(each))]


@pytest.fixture(scope="module")
def live(standalone: Server) -> Iterator[RunningApp]:
    """Serve one gateway for all tests, with a chat and a mailbox of jill and jack."""
    limits = Limits(failures=Limit(1000, per=1))
    with opened(standalone.url, "routes", limits) as live:
        live.chat = live.hf.create_chat(["jack"], sender="jill", body=SECRET_TEXT)
        live.hf.mailbox("jack").send(SECRET_TEXT, sender="jill")
        yield live


def ask(
    client: httpx.Client, method: str, path: str, live: RunningApp, chat: str | None = None
) -> httpx.Response:
    """Send a request with the body from the table."""
    options: dict[str, Any] = dict(BODIES.get((method, path), {}))
    chat = chat or live.chat.chat_id
    if isinstance(options.get("json"), dict) and "chat" in options["json"]:
        options["json"] = {"chat": chat, "position": "1:1"}
    if path.endswith("/ack-all"):
        options["json"] = {"positions": {chat: "1:1"}}
    where = path.replace("{chat}", chat).replace("{user}", "jack").replace("{seq}", "1")
    return client.request(method, where, **options)


def is_problem(answer: httpx.Response) -> bool:
    """Return whether a response has the form of RFC 9457, and the headers of every response."""
    fields = answer.json()
    return (
        answer.headers["content-type"] == "application/problem+json"
        and fields["status"] == answer.status_code
        and fields["type"].startswith("urn:holdfast:problem:")
        and bool(fields["title"] and fields["detail"])
        and answer.headers["x-content-type-options"] == "nosniff"
    )


def test_the_table_is_complete() -> None:
    """Every request that changes something is in it, and nothing else."""
    assert set(BODIES) == set(WRITING)
    assert len(REQUESTS) >= 16


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_a_request_without_a_valid_token_is_refused(
    live: RunningApp, method: str, path: str
) -> None:
    """A forged token is refused too."""
    answer = ask(live.of(None), method, path, live)
    assert (answer.status_code, is_problem(answer)) == (401, True)
    assert answer.headers["www-authenticate"] == 'Bearer realm="holdfast"'
    forged = live.of(None, Authorization=f"Bearer {live.tokens.issue('jack')[:-2]}xx")
    answer = ask(forged, method, path, live)
    assert (answer.status_code, is_problem(answer)) == (401, True)
    assert SECRET_TEXT not in answer.text


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_a_user_reads_nothing_of_others(live: RunningApp, method: str, path: str) -> None:
    """Another user cannot change the data of others either."""
    before = (dict(live.chat.members()), live.hf.mailbox("jack").status().read_seq)
    answer = ask(live.of("eve"), method, path, live)
    assert SECRET_TEXT not in answer.text
    assert live.chat.chat_id not in answer.text
    assert before == (dict(live.chat.members()), live.hf.mailbox("jack").status().read_seq)
    assert len(live.chat.history()) == 1


@pytest.mark.parametrize(("method", "path"), OF_A_CHAT)
def test_a_non_member_cannot_learn_whether_a_chat_exists(
    live: RunningApp, method: str, path: str
) -> None:
    """One that exists and one that does not look the same."""
    eve = live.of("eve")
    there, missing = ask(eve, method, path, live), ask(eve, method, path, live, "nowhere")
    assert (there.status_code, there.content) == (missing.status_code, missing.content)
    assert there.status_code == (204 if method == "DELETE" else 404)


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_no_get_changes_anything(live: RunningApp, method: str, path: str) -> None:
    """What writes refuses GET, unless something else is read there."""
    if ("GET", path) in READING:
        return
    answer = ask(live.of("jill"), "GET", path, live)
    assert (answer.status_code, is_problem(answer)) == (405, True)
    assert method in answer.headers["allow"]


@pytest.mark.parametrize(("method", "path"), READING)
def test_reading_answers_its_own(live: RunningApp, method: str, path: str) -> None:
    """With the headers of every answer, and never to be kept by a cache."""
    answer = ask(live.of("jack"), method, path, live)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_a_page_of_another_site_changes_nothing(live: RunningApp, method: str, path: str) -> None:
    """The credentials that the browser adds do not matter."""
    for headers in (
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": f"https://{live.host}"},
        {"Origin": f"ftp://{live.host}"},
        {"Origin": live.host},
        {"Origin": f"//{live.host}"},
        {"Origin": f"{live.url}.evil.test"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        answer = ask(live.of("jill", **headers), method, path, live)
        assert (answer.status_code, is_problem(answer)) == (403, True)


@pytest.mark.parametrize(
    "host",
    [
        "evil.test",
        "evil.test:8000",
        "",
        "[",
        "127.0.0.1.evil.test",
        "localhost/x",
        "evil.test@localhost",
        "localhost:80:90",
        "localhost:x",
    ],
)
@pytest.mark.parametrize("path", ["/v1/mailbox", "/chat", "/", "/nowhere"])
def test_other_hosts_are_not_served(live: RunningApp, path: str, host: str) -> None:
    """After DNS rebinding, a foreign page reaches this address, but sends its own host name."""
    answer = live.of("jill", Host=host).get(path)
    assert (answer.status_code, is_problem(answer)) == (421, True)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80"])
def test_its_own_hosts_are_served(live: RunningApp, host: str) -> None:
    """With any port, as tunnels change it."""
    assert live.of("jill", Host=host).get("/v1/mailbox/status").status_code == 200


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/v1/mailbox?limit=0", "limit must be 1 to 500"),
        ("/v1/mailbox?limit=501", "limit must be 1 to 500"),
        ("/v1/mailbox?limit=-1", "limit"),
        ("/v1/mailbox?limit=1e1", "limit"),
        ("/v1/mailbox?limit=" + "9" * 5000, "limit"),
        ("/v1/mailbox?limit=" + "0" * 19 + "600", "limit"),
        ("/v1/mailbox?timeout=61", "timeout must be 0 to 60 seconds"),
        ("/v1/mailbox?timeout=nan", "timeout"),
        ("/v1/mailbox?timeout=-1", "timeout"),
        ("/v1/mailbox?timeout=soon", "timeout"),
        ("/v1/mailbox/latest?n=0", "n must be 1 to 500"),
        ("/v1/mailbox/latest?after=-1", "after"),
        ("/v1/chats/{chat}/history?before=0", "before"),
        ("/v1/chats/{chat}/history?before=1&after=1", "exclude each other"),
        ("/v1/chats/{chat}/history?after=9007199254740992", "after"),
        ("/v1/chats/{chat}/messages/9007199254740991", "the number of a message"),
        ("/v1/chats/%FF/history", "not UTF-8"),
        ("/v1/chats/" + "x" * 600 + "/history", "invalid name"),
        ("/v1/chats/{chat}/messages/zero", "the number of a message"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_explained(live: RunningApp, path: str, detail: str) -> None:
    """400, and which part of it was wrong."""
    answer = live.of("jack").get(path.replace("{chat}", live.chat.chat_id))
    assert (answer.status_code, is_problem(answer)) == (400, True)
    assert detail in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (b"{", 400, "JSON"),
        (b"NaN", 400, "JSON"),
        (b'"\xff"', 400, "JSON"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b"[" * 101 + b"1" * 100 + b"]" * 101, 400, "nested more than 100 deep"),
        (b"[" * 600 + b"null" + b"]" * 600, 400, "nested more than 100 deep"),
        (b'""', 400, "empty"),
        (b"", 400, "JSON"),
    ],
)  # fmt: skip
def test_bodies_that_are_none(live: RunningApp, body: bytes, status: int, detail: str) -> None:
    """Nothing is written."""
    answer = live.of("jill").post(
        "/v1/mailboxes/nobody", content=body, headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, is_problem(answer)) == (status, True)
    assert detail in answer.json()["detail"]
    assert live.hf.mailbox("nobody").status().unread == 0


def test_a_body_must_say_what_it_is(live: RunningApp) -> None:
    """Reject a body without a content type: bytes and JSON are not guessed apart."""
    answer = live.of("jill").post("/v1/mailboxes/nobody", content=b"hi")
    assert (answer.status_code, is_problem(answer)) == (415, True)


@pytest.mark.parametrize(
    "json",
    [
        {},
        {"members": "jack", "body": 1},
        {"members": [1], "body": 1},
        {"members": [], "body": 1, "id": "mine"},
        {"members": []},
        {"members": [], "body": 1, "bytes": {"base64": ""}},
        {"members": [], "bytes": {"base64": "%"}},
        {"members": [""], "body": 1},
        [],
    ],
)
def test_a_chat_that_cannot_be(live: RunningApp, json: Any) -> None:
    """Name the wrong field; reject a chosen id, because it would reveal which ids exist."""
    answer = live.of("loner").post("/v1/chats", json=json)
    assert (answer.status_code, is_problem(answer)) == (400, True)
    assert live.hf.inbox("loner").chats() == []


@pytest.mark.parametrize("path", ["/nowhere", "/v1", "/v1/mailbox/", "/chat/../v1/x", "/chat/x.js"])
def test_what_is_not_there(live: RunningApp, path: str) -> None:
    """404, as a problem, too."""
    answer = live.of("jill").get(path)
    assert (answer.status_code, is_problem(answer)) == (404, True)


def test_one_cannot_be_made_a_member_by_oneself(live: RunningApp) -> None:
    """Only a member can add another user."""
    path = f"/v1/chats/{live.chat.chat_id}/members"
    assert live.of("eve").post(path, json={"user": "eve"}).status_code == 404
    assert "eve" not in live.chat.members()
