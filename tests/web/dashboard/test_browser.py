"""The dashboard in a real browser: it moves by itself, acts, heals, and runs nothing foreign."""

from __future__ import annotations

import re
import threading
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, Route, expect

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Retry, TaskRegistry
from rows.table import Table
from web.browsers import NARROW, Tab, visit
from web.dashboard.sample_data import QUERIES, fill, work
from web.running import RunningApp, opened

registry = TaskRegistry()


@registry.task(queue="email", retry=Retry(attempts=1))
def send(to: str) -> None:
    """Fails for some."""
    if to == "bad":
        raise ConnectionError("smtp said no")


def figure(page: Page, name: str) -> Any:
    """Return the value with the label *name*."""
    return page.locator(".figure", has=page.locator("dt", has_text=name)).locator("dd")


def test_the_pass_leaves_the_address_at_once(tab: Tab, live: RunningApp) -> None:
    """It is no part of any request's URL; scripts cannot read it; logging out forgets it."""
    page = tab(live)
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("#login")).to_be_visible()
    visit(page, live, "queues")
    expect(page.locator("#login")).to_be_visible()


def test_values_move_by_themselves_under_traffic(tab: Tab, live: RunningApp) -> None:
    """Refresh the values without a click, and keep them while updates are paused."""
    page = tab(live)
    expect(figure(page, "Waiting")).to_contain_text("0")
    live.hf.enqueue_many([send.call("jill") for _ in range(7)])
    expect(figure(page, "Waiting")).to_contain_text("7")
    expect(page.locator(".banner")).to_contain_text("No worker serves email", ignore_case=True)
    expect(page.locator(".uplot canvas")).to_have_count(0)  # the chart begins with the first task
    page.keyboard.press("p")
    expect(page.locator("#pause")).to_have_text("Paused")
    worker = live.hf.worker(registry)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        expect(figure(page, "Waiting")).to_contain_text("7")
        page.click("#pause")
        expect(figure(page, "Waiting")).to_contain_text("0")
        expect(figure(page, "Running")).to_contain_text("of 50 slots, 1 worker")
    finally:
        worker.stop()
        thread.join(20)
    expect(page.locator(".uplot canvas")).to_have_count(1)


def test_a_hidden_page_sends_no_requests(tab: Tab, live: RunningApp) -> None:
    """The page sends requests again once it is visible."""
    page = tab(live)
    asked: list[str] = []
    page.clock.install()
    page.reload()
    show(page, hidden=True)
    page.on("request", lambda one: "hx-request" in one.headers and asked.append(one.url))
    page.clock.run_for(60_000)
    assert asked == []
    live.hf.enqueue(send.call("jill"))
    show(page, hidden=False)
    expect(figure(page, "Waiting")).to_contain_text("1")


def show(page: Page, *, hidden: bool) -> None:
    """Report to the page that its tab is hidden or visible, as a browser does."""
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_chosen_tasks_are_replayed_after_a_question(tab: Tab, live: RunningApp) -> None:
    """With their number; the page says what was done; who says no has done nothing."""
    live.hf.enqueue_many([send.call("bad") for _ in range(3)])
    work(live.hf, registry)
    page = tab(live)
    visit(page, live, "tasks?queue=email&state=dead")
    expect(page.locator("input[name=id]")).to_have_count(3)
    button = page.locator("button[data-chosen]")
    expect(button).to_be_disabled()
    page.locator("input[name=id]").first.check()
    expect(button).to_have_text("Replay 1")
    page.locator("[data-all]").check()
    expect(button).to_have_text("Replay 3")
    button.click()
    expect(page.locator("#sure-what")).to_contain_text("3 dead tasks")
    page.locator("#sure button[value=no]").click()
    assert live.hf.queue("email").stats().dead == 3
    button.click()
    page.locator("#sure button[value=yes]").click()
    expect(page.locator(".flash")).to_have_text("Replayed 3 tasks.")
    expect(page.locator("input[name=id]")).to_have_count(0)
    assert live.hf.queue("email").stats().ready == 3
    page.reload()
    expect(page.locator(".flash")).to_have_count(0)


@pytest.mark.long
def test_what_is_chosen_stays_while_others_come(tab: Tab, live: RunningApp) -> None:
    """A list does not move while the user selects rows in it."""
    live.hf.enqueue_many([send.call("jill") for _ in range(2)])
    page = tab(live)
    visit(page, live, "tasks?queue=email")
    page.locator("input[name=id]").first.check()
    live.hf.enqueue(send.call("jack"))
    expect(page.locator("body")).to_have_class("held")
    expect(page.locator("input[name=id]")).to_have_count(2)
    page.locator("input[name=id]").first.uncheck()
    expect(page.locator("input[name=id]")).to_have_count(3)


@pytest.mark.long
def test_a_late_response_keeps_the_selection(tab: Tab, live: RunningApp) -> None:
    """Ignore a response to a request that was sent before the user began to select rows."""
    live.hf.enqueue_many([send.call("jill") for _ in range(2)])
    page = tab(live)
    visit(page, live, "tasks?queue=email")
    on_its_way: list[Route] = []

    def hold(route: Route) -> None:
        if "hx-request" in route.request.headers:
            on_its_way.append(route)
        else:
            route.continue_()

    page.route(lambda url: "/tasks?" in url, hold)
    eventually(lambda: page.title() and on_its_way, reason="the page asks what is new")
    page.locator("input[name=id]").first.check()
    live.hf.enqueue(send.call("jack"))
    page.evaluate("addEventListener('htmx:beforeSwap', () => setTimeout(() => { came = true }))")
    on_its_way[0].continue_()
    eventually(lambda: page.evaluate("window.came"), reason="it came")
    expect(page.locator("input[name=id]")).to_have_count(2)
    expect(page.locator("input[name=id]").first).to_be_checked()


def test_a_queue_is_paused_by_keyboard(tab: Tab, live: RunningApp) -> None:
    live.hf.enqueue(send.call("jill"))
    page = tab(live)
    visit(page, live, "queue?name=email")
    page.get_by_role("button", name="Pause", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".flash")).to_contain_text("email is paused")
    expect(page.locator("h1 .tag")).to_have_text("paused")
    assert live.hf.queue("email").stats().paused


@pytest.mark.long
def test_a_viewer_sees_no_buttons(tab: Tab, live: RunningApp) -> None:
    """The server would refuse the actions anyway."""
    live.hf.enqueue(send.call("jill"))
    page = tab(live, role="viewer")
    for path in ("queues", "queue?name=email", "tasks?queue=email"):
        visit(page, live, path)
        expect(page.locator("#live form[method=post] button")).to_have_count(0)


def test_nothing_hostile_runs_on_any_page(tab: Tab, live: RunningApp) -> None:
    """The policy has nothing to report; and no page is wider than a narrow screen."""
    fill(live.hf)
    page = tab(live, viewport=NARROW, color_scheme="dark")
    page.add_init_script(
        "addEventListener('securitypolicyviolation', (e) => { throw Error(e.blockedURI) })"
    )
    for path, queries in QUERIES.items():
        visit(page, live, f"{path}?{urlencode(queries[0])}")
        expect(page.locator("#live")).to_be_visible()
        assert page.title() != "owned"
        assert page.locator("#live img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path


def test_a_dashboard_that_is_away_is_marked_and_recovers(tab: Tab, live: RunningApp) -> None:
    """What is seen meanwhile is old, and says so."""
    page = tab(live)
    page.context.set_offline(True)
    expect(page.locator("#away")).to_be_visible()
    live.hf.enqueue(send.call("jill"))
    page.context.set_offline(False)
    expect(page.locator("#away")).to_be_hidden()
    expect(figure(page, "Waiting")).to_contain_text("1")


def test_it_opens_with_a_diagnosis_and_heals(tab: Tab, fresh_server: Server) -> None:
    """When the server behind it is down, from the first page on."""
    with opened(fresh_server.url, "diagnosis") as live:
        fresh_server.kill()
        page = tab(live, heading="The server does not answer")
        expect(page.locator("#diagnosis")).to_contain_text(str(fresh_server.port))
        fresh_server.start()
        expect(page.locator("h1")).to_have_text("Overview")
        fresh_server.kill()
        expect(page.locator("h1")).to_have_text("The server does not answer")
        fresh_server.start()
        expect(page.locator(".banner.ok")).to_be_visible()
        page.close()


def test_names_are_completed_while_they_are_typed(tab: Tab, live: RunningApp) -> None:
    """After a slash, wherever one is; what is typed stays, and is in the address."""
    live.hf.completions("guild:3").add_many(["jeff", "jenny", "jack"])
    page = tab(live)
    visit(page, live, "completions?name=guild:3")
    names = page.locator("td.name")
    expect(names).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("je")
    expect(names).to_have_text(["jeff", "jenny"])
    page.keyboard.type("nn")
    expect(names).to_have_text(["jenny"])
    expect(page.locator("#prefix")).to_have_value("jenn")
    expect(page.locator("#prefix")).to_be_focused()
    expect(page).to_have_url(re.compile("q=jenn$"))
    page.reload()
    expect(names).to_have_text(["jenny"])


def test_a_counter_moves_in_its_chart(tab: Tab, live: RunningApp) -> None:
    """And another precision is drawn in its place."""
    counter = live.hf.counter("hits", precisions=[1, 60], keep=30)
    counter.add(2)
    page = tab(live)
    visit(page, live, "counter?name=hits&precision=60")
    expect(figure(page, "Counted")).to_contain_text("2")
    expect(page.locator(".uplot canvas")).to_have_count(1)
    counter.add(5)
    expect(figure(page, "Counted")).to_contain_text("7")
    page.get_by_role("link", name="1 s", exact=True).click()
    expect(page.locator(".uplot canvas")).to_have_count(1)
    expect(figure(page, "Most")).to_contain_text("within 1 s")


def test_a_row_is_invalidated_by_its_button(tab: Tab, live: RunningApp) -> None:
    """Of the one that is explained."""
    cache = live.hf.row_cache("inventory", source=Table({"lamp": {"left": 3}}))
    cache.schedule("lamp", every=600.0)
    cache.refresh_due()
    page = tab(live)
    visit(page, live, "cache?name=inventory&id=lamp")
    expect(page.locator("#row")).to_contain_text('"left": 3')
    page.locator("#row").get_by_role("button", name="Invalidate").click()
    expect(page.locator(".flash")).to_contain_text("is read from its source")
    expect(page.locator("#row .tag")).to_have_text("uncached")
