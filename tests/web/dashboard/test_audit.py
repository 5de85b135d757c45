"""The audit log: logins, logouts, what was refused, and who read private messages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from faults.servers import Server
from holdfast import Limit
from holdfast.web import Limits
from holdfast.web.audit_log import one_line
from web.running import RunningApp, opened

Records = Callable[[], list[tuple[Any, ...]]]


@pytest.fixture
def live(standalone: Server) -> Iterator[RunningApp]:
    """Serve a dashboard of a namespace with a chat and a mailbox."""
    with opened(standalone.url, "audit") as live:
        live.chat = live.hf.create_chat(["jack"], sender="jill", body="private")
        live.hf.mailbox("jack").send("private", sender="jill")
        yield live


@pytest.fixture
def records(caplog: pytest.LogCaptureFixture) -> Records:
    """Return a function that returns the audit records: user, role, action, target and result."""
    caplog.set_level(logging.INFO, "holdfast.audit")

    def found() -> list[tuple[Any, ...]]:
        names = ("user", "role", "action", "target", "outcome")
        return [
            tuple(getattr(each, name) for name in names)
            for each in caplog.records
            if each.name == "holdfast.audit"
        ]

    return found


HERE = {"address": "127.0.0.1"}


def test_logins_and_logouts_are_recorded(live: RunningApp, records: Records) -> None:
    """Failed logins are recorded too, and wrong passes that are sent without a login."""
    browser = live.visitor(None, Origin=live.url, Accept="text/html")
    assert browser.post("/login", data={"pass": "wrong"}).status_code == 401
    made = live.passes.issue("ann", "viewer")
    assert browser.post("/login", data={"pass": made}).status_code == 303
    assert browser.post("/logout").status_code == 303
    live.visitor(None, Authorization="Bearer wrong").get("/queues")
    live.of(None, Authorization="Bearer wrong").get("/v1/mailbox")
    refused = ("-", "-", "login", HERE, "refused: the token is forged or expired")
    assert records() == [
        refused,
        ("ann", "viewer", "login", HERE, "logged in"),
        ("ann", "-", "logout", HERE, "logged out"),
        refused,
        refused,
    ]


def test_refused_actions_are_recorded(live: RunningApp, records: Records) -> None:
    """Of viewers, and of pages elsewhere."""
    ann = live.visitor("viewer", Accept="application/json")
    assert ann.post("/queue/pause", json={"queue": "email"}).status_code == 403
    cookie = f"holdfast_pass={live.passes.issue('bob', 'operator')}"
    bob = live.visitor(None, Cookie=cookie)
    assert bob.post("/queue/pause", data={"queue": "email"}).status_code == 403
    assert records() == [
        ("ann", "viewer", "queue/pause", {"queue": "email"}, "refused: for operators"),
        ("bob", "operator", "/dashboard/queue/pause", {}, "refused: another site"),
    ]


def test_who_reads_private_messages_is_recorded(live: RunningApp, records: Records) -> None:
    """Once for each chat and mailbox, however often the page renews itself."""
    ann, chat = live.visitor("viewer"), live.chat.chat_id
    for _ in range(3):
        assert "private" in ann.get(f"/chat?id={chat}").text
        assert "private" in ann.get(f"/chat.json?id={chat}", headers={"HX-Request": "true"}).text
        assert "private" in ann.get("/mailbox?name=jack").text
    assert live.visitor("viewer").get("/queues").status_code == 200
    assert records() == [
        ("ann", "viewer", "read chat", {"id": chat}, "shown"),
        ("ann", "viewer", "read mailbox", {"name": "jack"}, "shown"),
    ]


def test_wrong_tokens_do_not_flood_the_log(standalone: Server, records: Records) -> None:
    """As many are recorded as are allowed."""
    with opened(standalone.url, "audit-flood", Limits(failures=Limit(3, per=3_000))) as live:
        wrong = live.of(None, Authorization="Bearer wrong")
        for _ in range(20):
            wrong.get("/v1/mailbox")
    assert len(records()) == 3


def test_a_record_is_one_line(live: RunningApp, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever the names in it."""
    caplog.set_level(logging.INFO, "holdfast.audit")
    name = "ann\n2026-11-23 INFO root (operator) queue/clear \u202e\x1b[2J"
    headers = {"Authorization": f"Bearer {live.passes.issue(name, 'viewer')}"}
    live.of(None, **headers).post("/dashboard/queue/pause", json={"queue": name})
    [record] = [each for each in caplog.records if each.name == "holdfast.audit"]
    assert record.getMessage().isprintable()
    assert record.getMessage().startswith(r"ann\n2026-11-23 ")
    assert one_line("plain text, żółć") == "plain text, żółć"


@pytest.mark.parametrize("how", ["unsigned", "changed"])
def test_flash_messages_are_signed(live: RunningApp, how: str) -> None:
    """A cookie that something else set says nothing."""
    made = live.passes.issue("ann", "operator")

    def browser(flash: str = "") -> Any:
        cookie = f"holdfast_pass={made}" + (f"; holdfast_flash={flash}" if flash else "")
        return live.visitor(None, Cookie=cookie, Origin=live.url, Accept="text/html")

    live.hf.queue("email").pause()  # a form of a page acts only on what exists
    done = browser().post("/queue/pause", data={"queue": "email"})
    flash = done.headers["set-cookie"].partition("holdfast_flash=")[2].partition(";")[0].strip('"')
    assert "email" in browser(flash).get("/locks").text
    text, _, signed = flash.partition(".")
    forged = {"unsigned": text, "changed": f"{text[4:]}.{signed}"}[how]
    assert 'class="flash"' not in browser(forged).get("/locks").text
