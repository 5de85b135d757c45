"""Every link and every form of every page leads somewhere, in each state of the filters."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest

from faults.servers import Server
from holdfast import Limit, TaskRegistry
from holdfast.web import Limits
from web.dashboard.sample_data import ACTIONS, REQUESTS, fill
from web.running import RunningApp, opened

HTML = {"Accept": "text/html"}

STATES: Final = [
    *({"order": order, "q": q} for order in ("", "used", "name", "waiting") for q in ("", "x")),
    {"page": "2"},
]
"""Of the filters of the list of queues."""


class Forms(HTMLParser):
    """The links of a page, and its forms as a browser sends them; of a choice each one."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[tuple[str, str, list[tuple[str, str]]]] = []
        self.choices: list[tuple[int, str, str]] = []
        self._choice = ""
        self._open = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a":
            self.links.append(given["href"])
        elif tag == "div" and "hx-get" in given:
            self.links.append(given["hx-get"])
        elif tag == "form":
            self._open = True
            self.forms.append((given.get("method", "get"), given.get("action", ""), []))
        elif tag == "select":
            self._choice = given["name"]
        elif tag == "option" and self._choice:
            self.choices.append((len(self.forms) - 1, self._choice, given["value"]))
            if "selected" in given:
                self.forms[-1][2].append((self._choice, given["value"]))
        elif tag == "input" and self._open and "name" in given and given.get("type") != "checkbox":
            self.forms[-1][2].append((given["name"], given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "form"
        self._choice = "" if tag == "select" else self._choice

    def sent(self) -> Iterator[str]:
        """Yield the URLs of the GET forms: unchanged, with each choice, and with a search."""
        for at, (method, action, fields) in enumerate(self.forms):
            if method != "get":
                continue
            yield f"{action}?{urlencode(fields)}"
            yield f"{action}?{urlencode({**dict(fields), 'q': 'x y'})}"
            for where, name, value in self.choices:
                if where == at:
                    yield f"{action}?{urlencode({**dict(fields), name: value})}"


@pytest.fixture(scope="module")
def live(standalone: Server) -> Iterator[RunningApp]:
    """Serve a dashboard with data in every block, two pages of queues, and names to escape."""
    rate = Limit(100_000, per=1)
    limits = Limits(user=rate, address=rate, failures=rate)
    with opened(standalone.url, "dashboard-links", limits) as live:
        fill(live.hf)
        for name in ("", "a\r\nb", "a b&c=d", *(f"queue-{n:02}" for n in range(60))):
            task = TaskRegistry().task(queue=name, name="send")(lambda: None)
            live.hf.enqueue(task.call())
        live.hf.counter("").add(1)
        yield live


@pytest.mark.timeout(300)
@pytest.mark.parametrize("most", [210, pytest.param(1000, marks=pytest.mark.long)])
def test_no_link_and_no_form_leads_nowhere(live: RunningApp, most: int) -> None:
    """From each page on, the nearest pages first; and an action comes back to a page."""
    client = live.visitor("operator", **HTML)
    found = [f"/{path}?{urlencode(query)}" for path, query in REQUESTS]
    found += [f"/queues?{urlencode(state)}" for state in STATES]
    seen: set[str] = set()
    wrong: list[tuple[str, str, int]] = []
    start = dict.fromkeys(found, "the table")
    while start and len(seen) < most:
        path = next(iter(start))
        source = start.pop(path)
        seen.add(path)
        answer = client.get(path)
        if answer.status_code != 200:
            wrong.append((path, source, answer.status_code))
        elif answer.headers["content-type"].startswith("text/html"):
            start = start | {
                each: path for each in leads(answer) if each not in seen and each not in start
            }
    assert wrong == []
    assert len(seen) > 200


def leads(page: httpx.Response) -> Iterator[str]:
    """Yield the URLs that a page links to, below the dashboard."""
    forms = Forms(page.text)
    for method, action, fields in forms.forms:
        if method == "post" and action != "/dashboard/logout":
            assert action.removeprefix("/dashboard/") in ACTIONS
            yield dict(fields)["back"]
    for link in (*forms.links, *forms.sent()):
        if not link.startswith("#"):
            assert link.startswith("/dashboard/"), link
            yield link.removeprefix("/dashboard")


@pytest.mark.parametrize("path", ["queues?order=dead&q=a&page=1", "queues?order=used&q=a"])
def test_clear_leaves_the_order(live: RunningApp, path: str) -> None:
    """And the page that it leads to is one."""
    client = live.visitor("viewer", **HTML)
    [link] = cleared(client.get(f"/{path}"))
    order = dict(parse_qsl(urlsplit(path).query))["order"]
    assert dict(parse_qsl(urlsplit(link).query)) == {"order": order}
    assert client.get(link).status_code == 200


def test_clear_leaves_the_queue(live: RunningApp) -> None:
    """`Clear` resets the filters but keeps the queue of the page."""
    client = live.visitor("operator", **HTML)
    asked = {"queue": "queue-07", "state": "queued", "q": "nothing", "task": "send"}
    page = client.get("/tasks", params=asked)
    [link] = cleared(page)
    kept = dict(parse_qsl(urlsplit(link).query))
    assert kept == {"queue": "queue-07", "state": "queued", "task": "send"}
    [link] = cleared(client.get("/tasks?q=x"))
    kept = dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))
    assert kept == {"queue": client.get("/tasks.json").json()["queue"]}


def cleared(page: httpx.Response) -> list[str]:
    """Return the URLs of the `Clear` links."""
    assert page.status_code == 200
    parts = page.text.split(">Clear</a>")[:-1]
    links = [part.rpartition('href="')[2].rstrip('"') for part in parts]
    return [link.replace("&amp;", "&").removeprefix("/dashboard") for link in links]


@pytest.mark.parametrize(
    ("path", "text"),
    [("queues?page=3", "go to page 2"), ("tasks?queue=queue-01&page=5", "go to page 1")],
)
def test_a_page_behind_the_last_one_is_marked(live: RunningApp, path: str, text: str) -> None:
    """The page does not claim that there is nothing."""
    page = live.visitor("viewer", **HTML).get(f"/{path}").text
    assert text in page
    assert "There is no page" in page
    assert "No queues yet" not in page
    assert "Nothing waits" not in page
