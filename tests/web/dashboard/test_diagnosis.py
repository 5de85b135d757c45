"""Errors that the dashboard shows when its server fails."""

from __future__ import annotations

import re
from html import unescape

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import Limit
from holdfast.queues.partitions._sync.partition import REPLAY
from holdfast.web import Limits
from web.dashboard.sample_data import HOSTILE, PAGES, QUERIES, fill
from web.running import RunningApp, opened

HTML = {"Accept": "text/html"}


def test_each_page_opens_with_a_diagnosis(fresh_server: Server) -> None:
    """A page names the address of the server to a logged-in user; a program gets a problem."""
    with opened(fresh_server.url, "diagnosis") as live:
        fresh_server.kill()
        for path in PAGES:
            page = live.visitor("viewer", **HTML).get(f"/{path}", params=QUERIES[path][0])
            assert page.status_code == 503
            assert "The server does not answer" in page.text
            assert str(fresh_server.port) in page.text
        twin = live.visitor("viewer").get("/overview.json")
        assert (twin.status_code, twin.json()["type"]) == (503, "urn:holdfast:problem:unavailable")
        assert str(fresh_server.port) not in twin.text
        assert live.visitor(None, **HTML).get("/login").status_code == 200


def test_an_action_with_a_lost_reply_is_repeated_once(proxy: Proxy) -> None:
    """By the form that the page shows for it."""
    with opened(proxy.url, "lost-action") as live:
        fill(live.hf)
        live.hf.queue(HOSTILE).replay(["unknown"])  # so that the server knows the script
        proxy.drop_reply(match=REPLAY.sha1.encode())
        client = live.visitor("operator", **HTML)
        lost = client.post("/queue/replay", data={"queue": HOSTILE, "back": "/queues"})
        assert lost.status_code == 503
        assert "Repeat exactly once" in lost.text
        fields = {
            name: unescape(value)
            for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', lost.text)
        }
        assert fields.keys() == {"queue", "back", "key"}
        for _ in range(2):
            again = client.post("/queue/replay", data=fields)
            assert (again.status_code, again.headers["location"]) == (303, "/dashboard/queues")
            assert "Replayed 2 tasks of" in flash(live, again.headers["set-cookie"])
        assert live.hf.queue(HOSTILE).stats().dead == 0


def flash(live: RunningApp, cookie: str) -> str:
    """Return the message that the next page shows."""
    value = cookie.partition(";")[0]
    page = live.visitor("viewer", Cookie=value, **HTML).get("/queues")
    [found] = re.findall(r'<p class="flash" role="status">(.*?)</p>', page.text)
    assert "holdfast_flash=" in page.headers["set-cookie"]
    return str(found)


def test_a_server_that_refuses_is_not_shown_as_away(fresh_server: Server) -> None:
    """It answers, and says why."""
    with opened(fresh_server.url, "refused") as live:
        live.hf.mailbox("jack").send("full", sender="jill")
        with fresh_server.client() as client:
            client.config_set("maxmemory", 1)
            client.config_set("maxmemory-policy", "noeviction")
            answer = live.visitor("operator", **HTML).post("/queue/replay", data={"queue": "a"})
            client.config_set("maxmemory", 0)
        assert answer.status_code == 503
        assert "The server does not answer" not in answer.text
        assert "OOM" in answer.text


def test_too_many_requests_are_refused(standalone: Server) -> None:
    """Of one visitor; and passes cannot be guessed."""
    with opened(standalone.url, "limits", Limits(user=Limit(2, per=2_000))) as live:
        client = live.visitor("viewer")
        assert [client.get("/overview.json").status_code for _ in range(3)] == [200, 200, 429]
    with opened(standalone.url, "limits", Limits(failures=Limit(2, per=2_000))) as live:
        client = live.visitor(None)
        guesses = [client.post("/login", data={"pass": "guess"}).status_code for _ in range(3)]
        assert guesses == [401, 401, 429]
        good = client.post("/login", data={"pass": live.passes.issue("ann", "viewer")})
        assert good.status_code == 303
