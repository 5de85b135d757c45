"""Over all routes of the dashboard: who may come in, what may change something, in what shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urlencode

import httpx
import pytest
from starlette.routing import Route

from faults.servers import Server
from holdfast import Limit
from holdfast.web import Limits
from holdfast.web.dashboard.dashboard_app import ROUTES
from web.dashboard.sample_blocks import HOSTILE
from web.dashboard.sample_data import ACTIONS, CSV_PAGES, PAGES, QUERIES, REQUESTS, fill
from web.gateway.test_gateway_routes import is_problem
from web.running import RunningApp, opened

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TWINS = [*(f"{path or 'overview'}.json" for path in PAGES), *(f"{path}.csv" for path in CSV_PAGES)]
OPEN = {"/login", "/logout", "/assets/{hash}/{name:path}"}


@pytest.fixture(scope="module")
def live(standalone: Server) -> Iterator[RunningApp]:
    """Serve one dashboard for all tests, with tasks in every state."""
    rate = Limit(100_000, per=1)
    limits = Limits(user=rate, address=rate, failures=rate)
    with opened(standalone.url, "dashboard-routes", limits) as live:
        fill(live.hf)
        yield live


def test_each_page_is_in_the_table() -> None:
    """A new one is to be tested as the others are."""
    assert set(QUERIES) == set(PAGES)


def test_what_changes_something_is_a_post() -> None:
    """Nothing else but GET and HEAD, and no path has both but logging in."""
    methods: dict[str, set[str]] = {}
    for route in ROUTES:
        assert isinstance(route, Route)
        methods.setdefault(route.path, set()).update(route.methods or ())
    both = {path for path, all_of in methods.items() if {"GET", "POST"} <= all_of}
    assert both == {"/login"}
    assert {method for all_of in methods.values() for method in all_of} == {"GET", "HEAD", "POST"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_a_page_needs_a_login(live: RunningApp, path: str, accept: str) -> None:
    """A browser is redirected to the login page; a program gets a problem."""
    answer = live.visitor(None, Accept=accept).get(f"/{path}")
    if accept == "text/html":
        where, _, query = answer.headers["location"].partition("?")
        assert (answer.status_code, where) == (303, "/dashboard/login")
        assert query == (urlencode({"next": f"/{path}"}) if path else "")
    else:
        assert (answer.status_code, is_problem(answer)) == (401, True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", TWINS)
def test_the_json_of_a_page_needs_a_login(live: RunningApp, path: str) -> None:
    """The CSV of a page needs a login too."""
    answer = live.visitor(None).get(f"/{path}")
    assert answer.status_code == (401 if path.endswith(".json") else 303)


def test_a_token_of_the_gateway_opens_nothing_here(live: RunningApp) -> None:
    """Nor a pass a mailbox, though the secret is the same."""
    token = live.tokens.issue("ann")
    client = live.visitor(None, Authorization=f"Bearer {token}")
    assert client.get("/overview.json").status_code == 401
    passed = live.passes.issue("ann", "operator")
    gateway = live.of(None, Authorization=f"Bearer {passed}")
    assert gateway.get("/v1/mailbox").status_code == 401


@pytest.mark.parametrize("path", ACTIONS)
def test_an_action_is_for_operators(live: RunningApp, path: str) -> None:
    """Without a login: 401. A viewer: 403, before the request is validated."""
    assert live.visitor(None).post(f"/{path}.json", headers=FORM).status_code == 404
    json_please = {**FORM, "Accept": "application/json"}
    assert live.visitor(None).post(f"/{path}", headers=json_please).status_code == 401
    answer = live.visitor("viewer").post(f"/{path}", headers=json_please)
    assert (answer.status_code, is_problem(answer)) == (403, True)
    assert answer.json()["type"].endswith(":forbidden")
    answer = live.visitor("operator").post(f"/{path}", headers=json_please)
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:holdfast:problem:bad-request")


@pytest.mark.parametrize("path", ACTIONS)
def test_no_get_changes_anything(live: RunningApp, path: str) -> None:
    """No action accepts GET."""
    answer = live.visitor("operator").get(f"/{path}", params={"queue": HOSTILE, "id": "dead"})
    assert answer.status_code == 405


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "path", [*PAGES, *TWINS, *ACTIONS, "login", "logout", "assets/x/y", "nowhere"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_host_is_refused(live: RunningApp, method: str, path: str) -> None:
    """The role of the user does not matter."""
    answer = live.visitor("operator", Host="evil.test").request(method, f"/{path}")
    assert (answer.status_code, is_problem(answer)) == (421, True)


FOREIGN = [
    {"Origin": "https://evil.test"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", [*ACTIONS, "login", "logout"])
@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_page_of_another_site_does_nothing(
    live: RunningApp, path: str, headers: dict[str, str]
) -> None:
    """Refuse requests of other sites that carry a cookie or a pass."""
    for client in (live.visitor("operator"), with_cookie(live)):
        answer = client.post(f"/{path}", headers={**FORM, **headers})
        assert (answer.status_code, is_problem(answer)) == (403, True)
        assert answer.json()["type"].endswith(":cross-site")


@pytest.mark.parametrize("path", ACTIONS)
def test_a_cookie_alone_does_nothing(live: RunningApp, path: str) -> None:
    """A browser that says not which page sends it may be led by any page."""
    answer = with_cookie(live).post(f"/{path}", headers=FORM)
    assert answer.status_code == 403
    ours = {**FORM, "Sec-Fetch-Site": "same-origin"}
    assert with_cookie(live).post(f"/{path}", headers=ours).status_code == 400
    ours = {**FORM, "Origin": live.url}
    assert with_cookie(live).post(f"/{path}", headers=ours).status_code == 400


def with_cookie(live: RunningApp) -> httpx.Client:
    """Return a client that has logged in and holds the session cookie."""
    client = live.visitor(None)
    answer = client.post("/login", data={"pass": live.passes.issue("ann", "operator")})
    assert answer.status_code == 303
    [cookie] = answer.headers.get_list("set-cookie")
    assert {"HttpOnly", "SameSite=lax", "Path=/dashboard/"} <= set(cookie.split("; "))
    return client


class Tags(HTMLParser):
    """Every tag of a page, as a browser finds them: its name and its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._found: list[tuple[str, dict[str, str]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._found.append((tag, {name: value or "" for name, value in attrs}))

    def __iter__(self) -> Iterator[tuple[str, dict[str, str]]]:
        return iter(self._found)


@pytest.mark.parametrize(("path", "query"), REQUESTS, ids=lambda each: str(each)[:40])
def test_what_is_hostile_stays_text(live: RunningApp, path: str, query: dict[str, str]) -> None:
    """In names, arguments, errors and what is asked for; and only what has the nonce runs."""
    answer = live.visitor("operator", Accept="text/html").get(f"/{path}", params=query)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    tags = Tags(answer.text)
    assert not [tag for tag in tags if tag[0] == "img" and "icon" not in tag[1]["src"]]
    names = {name for _, attributes in tags for name in attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    policy = answer.headers["content-security-policy"]
    [nonce] = set(re.findall(r"'nonce-([^']+)'", policy))
    assert {attributes.get("nonce") for name, attributes in tags if name == "script"} == {nonce}
    assert "unsafe" not in policy


@pytest.mark.parametrize(("path", "query"), REQUESTS, ids=lambda each: str(each)[:40])
def test_each_page_has_a_twin_in_json(live: RunningApp, path: str, query: dict[str, str]) -> None:
    """By its path, and by what a program accepts."""
    client = live.visitor("viewer")
    named = client.get(f"/{path or 'overview'}.json", params=query)
    asked = client.get(f"/{path}", params=query, headers={"Accept": "application/json"})
    for answer in (named, asked):
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert json.loads(answer.text)["as_of"].endswith("Z")
    assert named.json().keys() == asked.json().keys()


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("tasks.json?state=none", "state must be one of"),
        ("tasks.json?page=0", "page must be 1 to 20"),
        ("tasks.json?page=21", "page must be 1 to 20"),
        ("queues.json?page=x", "page must be"),
        ("queues.json?page=501", "page must be 1 to 500"),
        ("counter.json?name=a&last=501", "last must be 1 to 500"),
        ("tally.json?name=a&limit=501", "limit must be 1 to 500"),
        ("queue.json", "the query needs a parameter: ?name="),
        ("task.json?queue=a", "the query needs a parameter: ?id="),
        ("queues.json?q=" + "x" * 1001, "at most 1,000"),
        ("queue.json?name=" + "x" * 600, "invalid name"),
        ("task.json?queue=a&id=a%20b", "no blanks"),
        ("chat.json?id=", "a chat needs one"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_explained(live: RunningApp, path: str, detail: str) -> None:
    """400, and which part of it was wrong."""
    answer = live.visitor("viewer").get(f"/{path}")
    assert (answer.status_code, is_problem(answer)) == (400, True)
    assert detail in answer.json()["detail"]


def test_a_wrong_request_is_explained_in_words(live: RunningApp) -> None:
    """To a browser, and what it asked for stays text."""
    answer = live.visitor("viewer", Accept="text/html").get("/tasks", params={"state": HOSTILE})
    assert answer.status_code == 400
    assert "state must be one of" in answer.text
    assert "<img src=x" not in answer.text


def test_assets_are_immutable_under_their_hash(live: RunningApp) -> None:
    """And only there; they are all that needs no pass, beside logging in."""
    client = live.visitor(None)
    page = client.get("/login").text
    assets = re.findall(r'(?:src|href)="/dashboard/(assets/[^"]+)"', page)
    assert len(assets) >= 6
    for path in assets:
        answer = client.get(f"/{path}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        wrong = re.sub(r"/[0-9a-f]{12}/", "/000000000000/", path)
        assert client.get(f"/{wrong}").status_code == 404
    assert client.get("/assets/x/../../app.py").status_code == 404
    guarded = {route.path for route in ROUTES if isinstance(route, Route)} - OPEN
    known = {f"/{path}" for path in (*PAGES, *ACTIONS)}
    assert guarded == known | {f"/{path}" for path in TWINS}


def test_the_scripts_are_small(live: RunningApp) -> None:
    """All together, as they are sent."""
    client = live.visitor(None)
    scripts = re.findall(r'src="/dashboard/(assets/[^"]+\.js)"', client.get("/login").text)
    assert sum(len(client.get(f"/{path}").content) for path in scripts) < 150_000


def test_a_form_leads_back_to_where_it_was_and_nowhere_else(live: RunningApp) -> None:
    """A form redirects only to a page of the dashboard."""
    live.hf.queue("back").pause()
    client = live.visitor("operator", Accept="text/html")
    for back, expected in {
        "/queue?name=a%2Fb": "/dashboard/queue?name=a%2Fb",
        "//evil.test": "/dashboard/",
        "https://evil.test": "/dashboard/",
        "/\\evil.test": "/dashboard/",
        "/queues\r\nX: y": "/dashboard/",
        "/../login": "/dashboard/",
    }.items():
        answer = client.post("/queue/resume", data={"queue": "back", "back": back})
        assert (answer.status_code, answer.headers["location"]) == (303, expected)
