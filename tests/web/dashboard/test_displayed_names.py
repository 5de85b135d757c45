"""Names that browsers, or readers, would take for others: in forms, in links, on pages."""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import urlencode

import httpx
import pytest
from playwright.sync_api import Page, expect

from holdfast import Holdfast, Retry, TaskRegistry, current_task
from holdfast.web.dashboard.displayed_names import in_text, pieces, prose_pieces, words
from holdfast.web.dashboard.filters import pretty, value
from rows.table import Table
from web.browsers import Tab, visit
from web.dashboard.sample_data import work
from web.running import RunningApp

ODD: Final = "x\u202el\x00e\r\n"
"""A name that a form, a link or a page may change in several ways."""

MORE: Final = (
    *(
        "a\rb",
        "a\nb ",
        "",
        "\n",
        "a\tb",
        "a+b&c=%0D#?",
        "a%0Db",
        "a\\nb",
        "\u05e9\u05dc\u05d5\u05dd 3",
    ),
    *("a\u2028b", "a  b", "cafe\u0301", "'\"<b>"),
)

MARKED: Final = (ODD, *(pytest.param(name, marks=pytest.mark.long) for name in MORE))

HTML = {"Accept": "text/html"}


def fill(hf: Holdfast, name: str) -> None:
    """Put something of that name everywhere where something is done to it, or a form leads on."""
    registry = TaskRegistry()

    @registry.task(queue=name, name="send", retry=Retry(attempts=1))
    def send(to: str) -> None:
        raise ValueError(name)

    hf.enqueue(send.call("jill"))
    work(hf, registry)
    hf.enqueue(send.call("jack"))
    cache = hf.row_cache(name, source=Table({"lamp": {"left": 3}}))
    cache.schedule("lamp", every=60.0)
    cache.refresh_due()
    hf.counter(name).add(1)


@pytest.mark.parametrize("name", MARKED, ids=ascii)
def test_what_is_done_is_done_to_what_is_shown(tab: Tab, live: RunningApp, name: str) -> None:
    """By every form, in a browser; nothing else comes to be."""
    fill(live.hf, name)
    queue = live.hf.queue(name)
    page = tab(live)
    visit(page, live, "queues")
    press(page, "Pause", f"{in_text(name)} is paused")
    assert queue.stats().paused
    visit(page, live, f"queue?{urlencode({'name': name})}")
    press(page, "Resume", "is resumed")
    assert not queue.stats().paused
    visit(page, live, "failures")
    press(page, "Replay 1", "Replayed 1 task")
    assert (queue.stats().dead, queue.stats().ready) == (0, 2)
    visit(page, live, f"tasks?{urlencode({'queue': name})}")
    page.get_by_label("Id, task, reason").fill("jack")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="Clear").click()
    page.locator("input[name=id]").first.check()
    press(page, "Cancel 1", "Cancelled 1 task")
    assert queue.stats().ready == 1
    press_row(page, live, name)
    visit(page, live, f"counter?{urlencode({'name': name})}")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("h1")).to_be_visible()
    seen = page.locator("h1").evaluate(
        """each => {
            for (const code of each.querySelectorAll(".code")) code.replaceWith(code.dataset.code);
            return each.textContent;
        }"""
    )
    assert seen == in_text(name).strip("\u2068\u2069")
    assert live.hf.queues() == [name]
    assert live.hf.row_caches() == [name]


def press_row(page: Page, live: RunningApp, name: str) -> None:
    """Find a row by its id, and invalidate it."""
    visit(page, live, f"cache?{urlencode({'name': name})}")
    page.get_by_label("Id of a row").fill("lamp")
    page.get_by_role("button", name="Explain").click()
    page.locator("#row").get_by_role("button", name="Invalidate").click()
    expect(page.locator(".flash")).to_contain_text("is read from its source")
    assert live.hf.row_cache(name).explain("lamp").state == "uncached"


def press(page: Page, button: str, flash: str) -> None:
    """Press it, say yes if it asks, and see what was done."""
    page.get_by_role("button", name=button, exact=True).first.click()
    page.wait_for_selector("#sure[open], p.flash[role=status]")
    if page.locator("#sure[open]").count():
        page.locator("#sure button[value=yes]").click()
    expect(page.locator(".flash")).to_contain_text(flash)


def test_a_name_turns_nothing_around(tab: Tab, live: RunningApp) -> None:
    """Each word of the question is where it was written."""
    name = "x\u202eliame"
    fill(live.hf, name)
    page = tab(live)
    visit(page, live, f"queue?{urlencode({'name': name})}")
    page.get_by_role("button", name="Delete all 1 waiting").click()
    name_in = page.locator("#sure-what > bdi")
    expect(name_in).to_have_count(1)
    assert name_in.evaluate("each => each.textContent") == name
    left_to_right = """() => {
        const words = [];
        const texts = document.createTreeWalker(document.querySelector("#sure-what"), 4);
        while (texts.nextNode()) {
            const range = document.createRange();
            for (const word of texts.currentNode.data.matchAll(/[A-Za-z]/g)) {
                range.setStart(texts.currentNode, word.index);
                range.setEnd(texts.currentNode, word.index + 1);
                const box = range.getBoundingClientRect();
                words.push([Math.round(box.top), box.left]);
            }
        }
        return words.every(([top, left], n) =>
            !n || top > words[n - 1][0] || left >= words[n - 1][1]);
    }"""
    assert page.evaluate(left_to_right)
    assert "\u202e" not in page.title()
    assert "\\u202e" in page.title()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("email", "email"),
        ("a\nb", "a\\nb"),
        ("a\r\nb", "a\\r\\nb"),
        ("a  b ", "a ␣b␣"),
        ("x\u202eliame", "x\\u202eliame"),
        ("\u05e9\u05dc\u05d5\u05dd 3", "\u2068\u05e9\u05dc\u05d5\u05dd 3\u2069"),
        ("", "(no name)"),
    ],
)
def test_different_names_look_different(name: str, text: str) -> None:
    """Where no HTML fits; nothing of a name is lost."""
    assert in_text(name) == text
    assert "".join(part for part, _ in pieces(name)) == name


TURNED: Final = "x\u202ey\u0085z\u2066"
"""A text that turns around what is behind it, and has further hidden characters."""


def fill_texts(live: RunningApp) -> None:
    """Put `TURNED` into what is shown and is no name: reasons, arguments, messages, errors."""
    registry = TaskRegistry()

    @registry.task(queue="q", name="send", retry=Retry(attempts=1))
    def send(what: str, **more: str) -> None:
        current_task().step("look", lambda: what)
        current_task().progress(1, 2, what)
        raise ValueError(what)

    live.hf.enqueue(send.call(TURNED, **{TURNED: TURNED}).options(task_id="t"))
    work(live.hf, registry)
    live.hf.mailbox("jill").send({TURNED: TURNED}, sender="jack")
    live.hf.mailbox("jill").send(TURNED, sender="jack")
    whole, failing = Table({"lamp": {"made": TURNED}}), Table({})
    failing.broken = ValueError(TURNED)
    for name, table in (("whole", whole), ("failing", failing)):
        cache = live.hf.row_cache(name, source=table)
        cache.schedule_many({"lamp": 60.0, **{f"row {n}": 60.0 for n in range(40)}})
        cache.refresh_due()
    assert live.hf.row_cache("failing").status().source_error


@pytest.mark.parametrize(
    "path",
    [
        *("tasks?queue=q&state=dead", "history?queue=q", "failures", "task?queue=q&id=t"),
        *("mailbox?name=jill", "rows", "cache?name=failing", "cache?name=failing&id=lamp"),
        "cache?name=whole&id=lamp",
    ],
)
def test_a_reason_turns_nothing_around(live: RunningApp, path: str) -> None:
    """Nor does an argument, a message or a row: hidden characters are only behind their codes."""
    fill_texts(live)
    html = live.visitor("viewer", Accept="text/html").get(f"/{path}").text
    assert "\\u202e" in html
    behind_codes = re.sub(r'data-code="[^"]*">.</bdi>', "", html, flags=re.DOTALL)
    assert not set(behind_codes) & set(TURNED) - set("xyz")


def test_a_text_keeps_its_lines_and_its_value() -> None:
    """Line breaks, and what joins the parts of an emoji, are no danger in a text."""
    harmless = " a  b\r\n\tc\u3000d \U0001f469\u200d\U0001f467 "
    assert [*prose_pieces(harmless)] == [(harmless, "")]
    assert [*prose_pieces("a\u202eb\x00")] == [
        *(("a", ""), ("\u202e", "\\u202e"), ("b", ""), ("\x00", "\\x00"))
    ]
    given = {"\u202e": ["\U000e0001", "\x00\n", "\xe9"]}
    for shown in (value(given), pretty(given)):
        assert json.loads(shown) == given
        assert all(letter.isprintable() or letter == "\n" for letter in shown)


def test_a_hint_shows_codes(tab: Tab, live: RunningApp) -> None:
    """Also what a browser shows when the pointer rests on a text that is cut."""
    fill_texts(live)
    page = tab(live)
    visit(page, live, "failures")
    expect(page.locator(".cut").first).to_have_attribute(
        "title", "failed: ValueError: x\\u202ey\\x85z\\u2066"
    )


def test_a_long_name_stays_within_its_chart(tab: Tab, live: RunningApp) -> None:
    """A page never scrolls sideways."""
    live.hf.counter("x" * 400).add(1)
    page = tab(live)
    visit(page, live, f"counter?name={'x' * 400}")
    expect(page.locator(".plot canvas")).to_be_visible()
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") <= 0


@pytest.mark.parametrize("sent", ["a\r\nb", "nobody knows this"])
@pytest.mark.parametrize(
    "path", ["queue/pause", "queue/resume", "semaphore/limit", "row/invalidate"]
)
def test_a_form_makes_nothing_new(live: RunningApp, path: str, sent: str) -> None:
    """The action reports that the object does not exist."""
    fill(live.hf, "a\nb")
    fields = {"queue": sent, "name": sent, "limit": "7", "id": "1"}
    answer = live.visitor("operator", **HTML).post(f"/{path}", data=fields)
    assert answer.status_code == 404
    assert "nothing was changed" in answer.text
    assert live.hf.queues() == live.hf.row_caches() == ["a\nb"]
    assert not live.hf.queue(sent).stats().paused
    assert not live.hf.semaphore(sent).inspect().limit


@pytest.mark.parametrize("path", ["queue/pause", "queues"])
def test_what_is_not_encoded_is_refused(live: RunningApp, path: str) -> None:
    """Answer 400 instead of decoding the name to replacement characters."""
    client = live.visitor("operator", **HTML)
    data = {"queue*": "%ff"}
    post = "pause" in path
    answer = client.post(f"/{path}", data=data) if post else client.get(f"/{path}", params=data)
    assert (answer.status_code, "percent-encoded" in answer.text) == (400, True)


WANTED = ("/queue?name=a%2Fb%0D", "/tasks?queue=email&state=dead&page=2", "/counters", "/")


@pytest.mark.parametrize("wanted", WANTED)
def test_one_comes_to_the_page_that_one_asked_for(live: RunningApp, wanted: str) -> None:
    """Also after a wrong pass, and when a page that is open asks for its newer self."""
    client = live.visitor(None, **HTML)
    where = client.get(wanted).headers["location"]
    beat = client.get(wanted, headers={"HX-Request": "true"})
    assert (beat.status_code, beat.headers["hx-redirect"]) == (401, where)
    fields = {"next": login_field(client.get(where.removeprefix("/dashboard")))}
    refused = client.post("/login", data={**fields, "pass": "wrong"})
    assert refused.status_code == 401
    fields = {"next": login_field(refused), "pass": live.passes.issue("ann", "viewer")}
    answer = client.post("/login", data=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/dashboard{wanted}")


def login_field(page: httpx.Response) -> str:
    """Return the page that the login form redirects to."""
    _, _, rest = page.text.partition('name="next" value="')
    return rest.partition('"')[0].replace("&amp;", "&")


@pytest.mark.parametrize(
    "elsewhere",
    [
        *("//evil.test", "https://evil.test/", "/\\evil.test", "\\\\evil.test", "/%09/evil.test"),
        *(
            "/queues#x",
            "/queues\r\nX: y",
            "/../chat",
            "/logout",
            "/queue/pause",
            "queues",
            "/login",
        ),
        *("/assets/x/y", "javascript:alert(1)", "/\t/evil.test", "", "/queues\\evil"),
    ],
)
def test_one_comes_to_nothing_else(live: RunningApp, elsewhere: str) -> None:
    """The login redirects neither to another site nor to an action."""
    client = live.visitor(None, **HTML)
    assert login_field(client.get("/login", params={"next": elsewhere})) == "/"
    token = live.passes.issue("ann", "viewer")
    answer = client.post("/login", data={"pass": token, "next": elsewhere})
    assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard/")


def test_who_acts_when_the_pass_is_over_comes_back_to_the_page(live: RunningApp) -> None:
    """As the browser names it."""
    client = live.visitor(None, **HTML)
    ours = {"Origin": live.url, "Referer": f"{live.url}/dashboard/queue?name=a"}
    answer = client.post("/queue/pause", data={"queue": "a"}, headers=ours)
    assert answer.headers["location"] == "/dashboard/login?next=%2Fqueue%3Fname%3Da"
    theirs = {"Referer": "https://evil.test/dashboard/queue?name=a"}
    answer = client.post("/queue/pause", data={"queue": "a"}, headers=theirs)
    assert answer.headers["location"] == "/dashboard/login"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("send_offer_expired_email", ["send_", "offer_", "expired_", "email"]),
        ("tenant:acme/orders@example", ["tenant:", "acme/", "orders@", "example"]),
        ("send_email", ["send_email"]),
        ("a name without separators", ["a name without separators"]),
        ("__double__underscores__", ["__double__underscores__"]),
    ],
)
def test_a_long_name_wraps_between_its_words(name: str, expected: list[str]) -> None:
    assert words(name) == expected
