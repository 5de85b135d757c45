"""The page shows each own message once: with lost replies, early deliveries, reloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Chat, Message
from web.browsers import DESK, PATIENCE_MS
from web.gateway.test_mailbox import PNG
from web.running import RunningApp, opened

SPOILED = """
const ask = window.fetch;
window.fetch = async (path, options) => {
  const how = options?.method === "POST" && path.endsWith("/messages") ? window.spoiled : "";
  if (how === "block") throw new TypeError("blocked");
  const answer = await ask(path, options);
  if (how) await answer.arrayBuffer();
  if (how === "hold") await new Promise((resolve) => { window.release = resolve; });
  if (how) throw new TypeError("lost");
  return answer;
};
"""
MINE = ".message.mine"
PENDING = ".message.pending"


@pytest.fixture(scope="module")
def live(standalone: Server) -> Iterator[RunningApp]:
    """Serve a gateway for the chat page."""
    with opened(standalone.url, "page-sending") as live:
        yield live


@pytest.fixture
def chat(live: RunningApp) -> Chat:
    """Create a chat of jill and jack."""
    return live.hf.create_chat(["jill", "jack"], sender="jack", body="hello")


@pytest.fixture
def page(browser: Browser, live: RunningApp, chat: Chat) -> Iterator[Page]:
    """Open the chat on the page of jill."""
    with browser.new_context(viewport=DESK) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(SPOILED)
        page.goto(f"{live.url}/chat#token={live.tokens.issue('jill')}")
        show(page)
        yield page


def show(page: Page) -> None:
    """Open the newest chat."""
    expect(page.locator("#line")).to_have_text("online")
    page.locator("#chats button").first.click()
    expect(page.locator(".message").first).to_be_visible()


def write(page: Page, text: str) -> None:
    """Write a message, and send it."""
    page.fill("#text", text)
    page.press("#text", "Enter")


def is_shown_once(page: Page) -> None:
    """Expect one own message that is not pending."""
    expect(page.locator(MINE)).to_have_count(1)
    expect(page.locator(PENDING)).to_have_count(0)


def spoil(page: Page, how: str) -> None:
    """Spoil sending: `hold` or `lose` the replies, or `block` the requests; empty ends it."""
    page.evaluate("(how) => { window.spoiled = how; }", how)


def bodies(chat: Chat) -> list[Any]:
    """Return the messages of the chat."""
    return [message.body for message in chat.history() if isinstance(message, Message)]


@pytest.mark.long
def test_a_delivery_before_the_reply_is_no_second_message(page: Page, chat: Chat) -> None:
    """The reply is held back beyond the delivery, and is lost then."""
    spoil(page, "hold")
    write(page, "once")
    is_shown_once(page)
    spoil(page, "")
    page.evaluate("window.release()")
    write(page, "twice")
    expect(page.locator(MINE)).to_have_count(2)
    expect(page.locator(PENDING)).to_have_count(0)
    assert bodies(chat) == ["hello", "once", "twice"]


def test_a_lost_reply_is_no_second_message(page: Page, chat: Chat) -> None:
    """Neither on the stream, nor when the page goes offline and online again."""
    spoil(page, "lose")
    write(page, "once")
    is_shown_once(page)
    page.click("#line")
    expect(page.locator("#line")).to_have_text("offline")
    spoil(page, "")
    page.click("#line")
    expect(page.locator("#line")).to_have_text("online")
    is_shown_once(page)
    assert bodies(chat) == ["hello", "once"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["lose", "block"])
def test_a_reload_forgets_nothing(page: Page, chat: Chat, how: str) -> None:
    """What is pending is sent by the next page, once, whether the gateway had it or not."""
    page.evaluate("WebSocket.prototype.send = () => {}")  # no delivery is confirmed
    page.click("#line")
    page.click("#line")
    spoil(page, how)
    write(page, "once")
    eventually(lambda: len(bodies(chat)) == 1 + (how == "lose"))
    page.reload()
    show(page)
    is_shown_once(page)
    assert bodies(chat) == ["hello", "once"]


def test_a_picture_survives_a_reload(page: Page) -> None:
    """With its bytes."""
    spoil(page, "block")
    picture = {"name": "dot.png", "mimeType": "image/png", "buffer": PNG}
    page.set_input_files("#picture", [picture])  # type: ignore[list-item]
    expect(page.locator(PENDING)).to_have_count(1)
    page.reload()
    show(page)
    is_shown_once(page)
    expect(page.locator(".message img")).to_have_js_property("naturalWidth", 1)


@pytest.mark.parametrize("accepts", [True, False])
def test_a_link_replaces_no_session_unasked(page: Page, live: RunningApp, *, accepts: bool) -> None:
    """The question names both users; to refuse it changes nothing."""
    asked: list[str] = []

    def answer(dialog: object) -> None:
        asked.append(dialog.message)  # type: ignore[attr-defined]
        dialog.accept() if accepts else dialog.dismiss()  # type: ignore[attr-defined]

    page.on("dialog", answer)
    page.evaluate("(token) => { location.hash = `token=${token}`; }", live.tokens.issue("eve"))
    expect(page.locator("#user")).to_have_text("eve" if accepts else "jill")
    eventually(lambda: len(asked) == 1)
    assert '"jill"' in asked[0]
    assert '"eve"' in asked[0]
    assert "token" not in page.url
    page.goto("about:blank")  # so that the next link loads the page again
    page.goto(f"{live.url}/chat#token={live.tokens.issue('eve')}")
    expect(page.locator("#user")).to_have_text("eve" if accepts else "jill")
