"""WCAG 2.2 AA, as far as a program can check it: contrast, keyboard, sizes, narrow screens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from rows.table import Table
from web.browsers import PHONE, Tab, visit
from web.dashboard.sample_data import REQUESTS, fill
from web.dashboard.test_browser import send
from web.running import RunningApp

STYLE = (files("holdfast.web.dashboard") / "static/dashboard.css").read_text()

TEXTS = (
    *(("ink", "paper"), ("ink", "card"), ("faint", "paper"), ("faint", "card")),
    *(("accent", "paper"), ("accent", "card"), ("accent", "soft"), ("on-accent", "accent")),
    *((kind, ground) for kind in ("ok", "warning", "error") for ground in ("card", f"{kind}-soft")),
    *(("ink", f"{kind}-soft") for kind in ("ok", "warning", "error")),
)
SHAPES = (
    *(("field", "card"), ("field", "paper")),
    *((line, "card") for line in ("one", "two", "three", "four")),
)

WIDEST = """[...document.querySelectorAll("main *")].filter(
  (each) => each.getBoundingClientRect().right > innerWidth && !each.closest(".wide > table")
).map((each) => each.outerHTML.slice(0, 90)).slice(0, 3)"""


CUT_HINTS = """[...document.querySelectorAll("main input[placeholder]")].filter((each) => {
  const style = getComputedStyle(each), pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  const room = each.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return pen.measureText(each.placeholder).width > room;
}).map((each) => each.placeholder)"""


def themes() -> Iterator[dict[str, str]]:
    """Yield the colours of the light and of the dark theme."""
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[:2]
    for theme in (light, dark):
        yield dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", theme))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", list(themes()), ids=["light", "dark"])
def test_colours_have_contrast(theme: dict[str, str]) -> None:
    """Text has 4.5 to 1, borders of fields and lines of charts 3 to 1."""
    weak = [
        (one, other, round(contrast(theme[one], theme[other]), 2))
        for pairs, least in ((TEXTS, 4.5), (SHAPES, 3.0))
        for one, other in pairs
        if contrast(theme[one], theme[other]) < least
    ]
    assert weak == []


def test_nothing_is_made_faint_by_opacity() -> None:
    """Disabled buttons are."""
    rules = re.findall(r"([^{}]+)\{[^{}]*opacity: \.\d", STYLE)
    assert [rule.strip() for rule in rules] == ["button:disabled"]


@pytest.mark.parametrize(
    "path", ["queues", *(pytest.param(each, marks=pytest.mark.long) for each in ("", "tallies"))]
)
def test_the_skip_link_is_reached_first(tab: Tab, live: RunningApp, path: str) -> None:
    page = tab(live, viewport={"width": 390, "height": 800})
    visit(page, live, path)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_texts_follow_the_font_size_of_the_browser(tab: Tab, live: RunningApp) -> None:
    page = tab(live)
    before = page.evaluate("getComputedStyle(document.querySelector('h1')).fontSize")
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    after = page.evaluate("getComputedStyle(document.querySelector('h1')).fontSize")
    assert float(after.removesuffix("px")) == 2 * float(before.removesuffix("px"))


@pytest.mark.long  # `test_nothing_hostile_runs_on_any_page` looks at one query of each page
@pytest.mark.timeout(300)
def test_no_page_is_wider_than_a_narrow_screen(tab: Tab, live: RunningApp) -> None:
    fill(live.hf)
    page = tab(live, viewport={"width": 320, "height": 640})
    wide = []
    for path, query in REQUESTS:
        visit(page, live, f"{path}?{urlencode(query)}")
        if page.evaluate("document.documentElement.scrollWidth") > 320:
            wide.append((path, query, page.evaluate(WIDEST)))
    assert wide == [], "\n".join(map(str, wide))


def test_the_bar_with_the_screens_is_shown_whole(tab: Tab, live: RunningApp) -> None:
    """On a small window it scrolls, and the button to log out stays in sight."""
    page = tab(live, viewport={"width": 1280, "height": 860})
    nav = "document.querySelector('.bar nav')"
    assert page.evaluate(f"{nav}.scrollHeight <= {nav}.clientHeight")
    page.set_viewport_size({"width": 1280, "height": 500})
    assert page.evaluate(f"{nav}.scrollHeight > {nav}.clientHeight")
    expect(page.get_by_role("button", name="Log out")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize(
    "path", ["functions", "rw-locks", "mailboxes", "tasks?queue=email", "cache?name=stock"]
)
def test_hints_on_a_phone_are_not_cut_off(tab: Tab, live: RunningApp, path: str) -> None:
    live.hf.enqueue(send.call("jill"))
    live.hf.row_cache("stock", source=Table({"lamp": {"left": 3}})).get("lamp")
    page = tab(live, viewport=PHONE)
    visit(page, live, path)
    expect(page.locator("main input[placeholder]")).to_have_count(1)
    assert page.evaluate(CUT_HINTS) == []


@pytest.mark.parametrize(
    ("path", "beside"),
    [("mailbox?name=jill", ["1", "jack"]), ("mailboxes", ["jill", "1 / 10,000"])],
)
def test_messages_on_a_phone_take_few_lines(
    tab: Tab, live: RunningApp, path: str, beside: list[str]
) -> None:
    """The sender and the number share a line, as do a mailbox and its unread messages."""
    live.hf.mailbox("jill").send("hello", sender="jack")
    page = tab(live, viewport=PHONE)
    visit(page, live, path)
    cells = page.locator("tbody td")
    assert [cells.nth(n).inner_text().strip() for n in (0, 1)] == beside
    tops = [cells.nth(n).evaluate("each => each.getBoundingClientRect().top") for n in (0, 1)]
    assert abs(tops[0] - tops[1]) < 6
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parametrize("path", ["locks", "functions"])
def test_code_on_a_phone_wraps(tab: Tab, live: RunningApp, path: str) -> None:
    """It breaks between words and after parentheses."""
    page = tab(live, viewport=PHONE)
    visit(page, live, path)
    code = page.locator(".empty pre")
    assert code.evaluate("each => /[(]<wbr>/.test(each.innerHTML)")
    assert code.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_the_menu_on_a_phone_shows_that_it_scrolls(tab: Tab, live: RunningApp) -> None:
    """Shade the side where more screens follow, also where scroll bars are hidden."""
    page = tab(live, viewport=PHONE)
    menu = page.locator(".bar nav")
    assert menu.evaluate("each => each.scrollWidth > each.clientWidth")
    style = menu.evaluate("each => getComputedStyle(each).backgroundImage")
    assert style.count("linear-gradient") == 4
    assert menu.evaluate("each => getComputedStyle(each).scrollbarWidth") != "none"
