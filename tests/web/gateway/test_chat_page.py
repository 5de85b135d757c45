"""The page to try it with, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from faults.servers import Server
from faults.waiting import eventually
from web.browsers import DESK, PATIENCE_MS, PHONE
from web.gateway.test_mailbox import PNG
from web.running import RunningApp, opened

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
NO_NETWORK = "ERR_INTERNET_DISCONNECTED"  # a browser says so by itself when a test cuts it off


@pytest.fixture
def live(standalone: Server, tmp_path: Path) -> Iterator[RunningApp]:
    """Serve a gateway for the chat page."""
    with opened(standalone.url, tmp_path.name) as live:
        yield live


@pytest.fixture
def tab(browser: Browser, live: RunningApp) -> Iterator[Callable[..., Page]]:
    """Open the page as a user, and fail the test if the page reports an error."""
    complaints: list[str] = []
    contexts: list[Any] = []

    def open_as(user: str, *, size: dict[str, int] = DESK) -> Page:
        context = browser.new_context(viewport=size)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda m: m.type == "error" and complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{live.url}/chat#token={live.tokens.issue(user)}")
        expect(page.locator("#line")).to_have_text("online")
        return page

    yield open_as
    for context in contexts:
        context.close()
    assert [text for text in complaints if NO_NETWORK not in text] == []


def begin_chat(page: Page, *names: str) -> None:
    page.fill("#with", ", ".join(names))
    page.press("#with", "Enter")
    expect(page.locator("#chat")).to_be_visible()


def say(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.press("#text", "Enter")
    expect(page.locator(".message.mine .what").last).to_have_text(text)
    expect(page.locator(".message.pending")).to_have_count(0)


def texts(page: Page) -> list[str]:
    return [text.strip() for text in page.locator(".message .what").all_inner_texts()]


def open_chat(page: Page, title: str) -> None:
    page.locator("#chats button", has_text=title).click()
    expect(page.locator("#title h2")).to_have_text(title)


def test_the_colours_are_those_of_the_dashboard() -> None:
    """They are in two files, because a page of the gateway loads nothing from the dashboard."""
    package = files("holdfast.web")
    pairs = re.findall(
        r"--([\w-]+): light-dark\((#\w+), (#\w+)\)",
        (package / "gateway/chat_page/chat.css").read_text(),
    )
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w+);", theme))
        for theme in re.findall(
            r":root \{(.*?)\}", (package / "dashboard/static/dashboard.css").read_text(), re.DOTALL
        )[:2]
    )
    same = {"mine": "soft", "good": "ok", "bad": "error"}
    names = [same.get(name, name) for name, _, _ in pairs]
    assert len(pairs) == 11
    assert [one for _, one, _ in pairs] == [light[name] for name in names]
    assert [one for _, _, one in pairs] == [dark[name] for name in names]


def test_two_tabs_chat_with_text_and_a_picture(tab: Callable[..., Page]) -> None:
    """What one sends, the other sees, without being asked."""
    jill, jack = tab("jill"), tab("jack", size=PHONE)
    begin_chat(jill, "jack")
    expect(jack.locator("#chats .unread")).to_have_text("1")
    open_chat(jack, "jill")
    say(jill, "hello")
    expect(jack.locator(".message .what").last).to_have_text("hello")
    expect(jack.locator("#chats .unread")).to_be_hidden()
    picture = {"name": "dot.png", "mimeType": "image/png", "buffer": PNG}
    jack.set_input_files("#picture", [picture])  # type: ignore[list-item]
    for page in (jack, jill):
        image = page.locator(".message img")
        expect(image).to_have_count(1)
        expect(image).to_have_js_property("naturalWidth", 1)
    expect(jack.locator(".message.pending")).to_have_count(0)


def test_who_was_offline_has_missed_nothing(tab: Callable[..., Page]) -> None:
    """What came meanwhile is there in order, and what was written meanwhile is sent once."""
    jill, jack = tab("jill"), tab("jack")
    begin_chat(jill, "jack")
    open_chat(jack, "jill")
    jack.click("#line")
    expect(jack.locator("#line")).to_have_text("offline")
    for n in range(10):
        say(jill, f"while you were away {n}")
    jack.fill("#text", "written offline")
    jack.press("#text", "Enter")
    expect(jack.locator(".message.pending")).to_have_count(1)
    jack.click("#line")
    expected = ["jill began the chat", *(f"while you were away {n}" for n in range(10))]
    for page in (jack, jill):
        expect(page.locator(".message .what").last).to_have_text("written offline")
        expect(page.locator(".message .what")).to_have_count(12)
        assert texts(page) == [*expected, "written offline"]


def test_what_was_read_offline_is_acknowledged_online(
    tab: Callable[..., Page], live: RunningApp
) -> None:
    """Once there is a line again, though nothing new comes over it."""
    chat = live.hf.create_chat(["jill", "jack"], sender="jill", body="read me")
    jack = tab("jack")
    expect(jack.locator("#chats .unread")).to_have_text("1")
    jack.click("#line")
    expect(jack.locator("#line")).to_have_text("offline")
    open_chat(jack, "jill")
    assert dict(chat.members()) == {"jill": 1, "jack": 0}
    jack.click("#line")
    eventually(lambda: dict(chat.members()) == {"jill": 1, "jack": 1})


def test_a_broken_line_is_resumed_by_itself(tab: Callable[..., Page]) -> None:
    """The page reconnects without a click."""
    jill, jack = tab("jill"), tab("jack")
    begin_chat(jill, "jack")
    open_chat(jack, "jill")
    jack.context.set_offline(True)
    jack.evaluate("window.dispatchEvent(new Event('offline'))")
    expect(jack.locator("#line")).not_to_have_text("online")
    say(jill, "are you there?")
    jack.context.set_offline(False)
    expect(jack.locator(".message .what").last).to_have_text("are you there?")


def test_what_is_hostile_stays_text(tab: Callable[..., Page], live: RunningApp) -> None:
    """In names, bodies and types of pictures."""
    jill = tab("jill")
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload=\"document.title='owned'\"/>"
    chat = live.hf.create_chat(["jill", HOSTILE], sender=HOSTILE, body=HOSTILE)
    chat.send({"text": HOSTILE}, sender=HOSTILE)
    chat.send({HOSTILE: [HOSTILE]}, sender=HOSTILE)
    chat.send(svg, sender=HOSTILE)
    open_chat(jill, HOSTILE)
    expect(jill.locator(".message")).to_have_count(4)
    assert texts(jill)[:2] == [HOSTILE, HOSTILE]
    assert texts(jill)[3] == "(a file)"
    assert jill.locator(".message img").count() == 0
    expect(jill).to_have_title(re.compile("jill"))


def test_a_gap_is_shown(tab: Callable[..., Page], live: RunningApp) -> None:
    """A user who was away for longer than messages are kept sees how many are missing."""
    chat = live.hf.create_chat(["jill", "jack"], sender="jack", body="one", keep=3)
    for n in range(2, 9):
        chat.send(str(n), sender="jack")
    jill = tab("jill")
    open_chat(jill, "jack")
    expect(jill.locator(".gap")).to_contain_text("5 messages are missing here")
    assert texts(jill) == ["6", "7", "8"]


def test_the_token_leaves_the_address_at_once(tab: Callable[..., Page]) -> None:
    """It is no part of any request's URL, and a reload still knows it."""
    jill = tab("jill")
    assert "token" not in jill.url
    requests: list[str] = []
    jill.on("request", lambda request: requests.append(request.url))
    jill.reload()
    expect(jill.locator("#line")).to_have_text("online")
    assert requests
    assert not any("hf1." in url for url in requests)


def test_a_bad_token_is_reported(browser: Browser, live: RunningApp) -> None:
    """The user can log in with another token."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{live.url}/chat#token=wrong")
        expect(page.locator("#refused")).to_contain_text("not good")
        page.fill("#token", live.tokens.issue("jill"))
        page.press("#token", "Enter")
        expect(page.locator("#user")).to_have_text("jill")
