"""A press hits what was seen there, whatever the server has changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from faults.waiting import eventually
from holdfast import TaskRegistry
from web.browsers import PHONE, Tab, visit
from web.dashboard.sample_data import work
from web.dashboard.test_browser import registry, send
from web.running import RunningApp

BEATS = 3
"""Updates that a test waits for, where none may come."""


def enqueue(live: RunningApp, queue: str, count: int = 1) -> None:
    """Put tasks into any queue."""
    task = TaskRegistry().task(queue=queue, name="send")(lambda: None)
    live.hf.enqueue_many([task.call() for _ in range(count)])


def row(page: Page, name: str) -> Locator:
    """Return the row of the queue *name*."""
    return page.locator("tbody tr", has=page.get_by_role("link", name=name, exact=True))


def paused(live: RunningApp) -> set[str]:
    """Return the names of the paused queues."""
    return {name for name in live.hf.queues() if live.hf.queue(name).stats().paused}


def update(page: Page) -> None:
    """Ask for the newer page and have its answers come in, whether it shows them or not."""
    page.evaluate(
        """async beats => {
            for (let n = 0; n < beats; n++)
                await new Promise(came => {
                    const asking = setInterval(() => htmx.trigger("#live", "beat"), 100);
                    document.addEventListener("htmx:afterRequest", () => {
                        clearInterval(asking);
                        setTimeout(came);
                    }, { once: true });
                });
        }""",
        BEATS,
    )


@pytest.fixture
def page(tab: Tab, live: RunningApp) -> Page:
    """Open the list of queues; `billing` is first because it has the most waiting tasks."""
    enqueue(live, "email", 1)
    enqueue(live, "billing", 2)
    page = tab(live)
    visit(page, live, "queues?order=waiting")
    expect(page.locator("tbody tr").first).to_contain_text("billing")
    return page


def reorder(page: Page, live: RunningApp) -> None:
    """Let `email` come first, and show it if the page lets it."""
    enqueue(live, "email", 5)
    update(page)


def press_pointer(page: Page, button: Locator, between: Callable[[], object]) -> None:
    """Put the pointer on *button*; do *between* before it goes down, or while it is down."""
    box = button.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    between()


def test_the_pointer_rests_on_a_button(page: Page, live: RunningApp) -> None:
    """Its row stays under it."""
    press_pointer(page, row(page, "billing").get_by_role("button"), lambda: reorder(page, live))
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".flash")).to_contain_text("billing is paused")
    assert paused(live) == {"billing"}


def test_the_pointer_is_down_before_the_update_and_up_after_it(
    page: Page, live: RunningApp
) -> None:
    """One press of one button."""
    press_pointer(page, row(page, "billing").get_by_role("button"), page.mouse.down)
    reorder(page, live)
    page.mouse.up()
    expect(page.locator(".flash")).to_contain_text("billing is paused")
    assert paused(live) == {"billing"}


@pytest.mark.parametrize("key", ["Enter", pytest.param(" ", marks=pytest.mark.long)])
def test_the_focus_is_on_a_button(page: Page, live: RunningApp, key: str) -> None:
    """And stays there; letting go with Escape lets the page move again."""
    row(page, "billing").get_by_role("button").focus()
    reorder(page, live)
    page.keyboard.press(key)
    expect(page.locator(".flash")).to_contain_text("billing is paused")
    assert paused(live) == {"billing"}
    row(page, "email").get_by_role("button").focus()
    expect(page.locator("#pause")).to_have_text("Held")
    enqueue(live, "third", 9)
    page.keyboard.press("Escape")
    expect(page.locator("tbody tr").first).to_contain_text("third")


@pytest.mark.long
def test_the_focus_is_on_a_link(page: Page, live: RunningApp) -> None:
    """The link leads to the page that it names."""
    page.get_by_role("link", name="billing", exact=True).focus()
    reorder(page, live)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("billing")


@pytest.mark.long
def test_rows_come_above_and_the_row_itself_goes(tab: Tab, live: RunningApp) -> None:
    """What is pressed is what was there; a task that has ended meanwhile is not another one."""
    live.hf.queue("email").pause()
    live.hf.enqueue(send.call("jill").options(task_id="first"))
    live.hf.enqueue(send.call("jill").options(task_id="second"))
    page = tab(live)
    visit(page, live, "tasks?queue=email")
    button = page.get_by_role("link", name="send").first
    box = button.bounding_box()
    assert box
    page.mouse.move(box["x"] + 5, box["y"] + 5, steps=3)
    assert live.hf.queue("email").handle("first").cancel()
    live.hf.enqueue(send.call("jill").options(task_id="third", priority="high"))
    update(page)
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("p.mono").first).to_have_text("first")
    expect(page.locator("h1")).to_contain_text("cancelled")


def test_a_finger_is_down_before_the_update_and_up_after_it(tab: Tab, live: RunningApp) -> None:
    """As of a pointer."""
    enqueue(live, "email", 1)
    enqueue(live, "billing", 2)
    page = tab(live, viewport=PHONE, has_touch=True, is_mobile=True)
    visit(page, live, "queues?order=waiting")
    button = row(page, "billing").get_by_role("button")
    button.scroll_into_view_if_needed()
    while not (box := button.bounding_box()):  # an update is just replacing it
        pass
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    touch = page.context.new_cdp_session(page)
    points: dict[str, Any] = {"type": "touchStart", "touchPoints": [place]}
    touch.send("Input.dispatchTouchEvent", points)
    reorder(page, live)
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.locator(".flash")).to_contain_text("billing is paused")
    assert paused(live) == {"billing"}


@pytest.mark.long
def test_rows_stay_while_the_pointer_moves(page: Page, live: RunningApp) -> None:
    """Nothing moves under a hand that moves: it is where it aimed when it arrives."""
    box = row(page, "billing").get_by_role("button").bounding_box()
    table = page.locator("tbody").bounding_box()
    assert box
    assert table
    page.mouse.move(table["x"] + table["width"] / 2, box["y"] + 3, steps=4)
    enqueue(live, "email", 5)
    page.evaluate("() => { htmx.trigger('#live', 'beat') }")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=10)
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".flash")).to_contain_text("billing is paused")
    assert paused(live) == {"billing"}


def test_rows_that_have_moved_take_no_press_at_once(page: Page, live: RunningApp) -> None:
    """Ignore a click on a row that moved under the pointer just before."""
    place = row(page, "billing").get_by_role("button").bounding_box()
    assert place
    page.mouse.move(5, 5)
    page.evaluate(
        """() => document.addEventListener("htmx:afterSwap", () => {
            window.under = document.documentElement.className
                + getComputedStyle(document.querySelector("#live form[method=post]")).pointerEvents;
        }, { once: true })"""
    )
    enqueue(live, "email", 5)
    eventually(lambda: page.evaluate("window.under"), reason="the rows have moved")
    assert page.evaluate("window.under") == "settlingnone"
    row(page, "email").get_by_role("button").click()
    expect(page.locator(".flash")).to_contain_text("email is paused")
    assert paused(live) == {"email"}


@pytest.mark.long
def test_a_double_click_is_one_press(page: Page, live: RunningApp) -> None:
    """The page after it shows another row in that place."""
    row(page, "billing").get_by_role("button").dblclick()
    expect(page.locator(".flash")).to_contain_text("billing is paused")
    expect(row(page, "billing").get_by_role("button")).to_have_text("Resume")
    assert paused(live) == {"billing"}


@pytest.mark.long
def test_going_back_chooses_nothing(tab: Tab, live: RunningApp) -> None:
    """A browser would choose by place what is another task now."""
    live.hf.queue("email").pause()
    for n in range(3):
        live.hf.enqueue(send.call("jill").options(task_id=f"t{n}"))
    page = tab(live)
    visit(page, live, "tasks?queue=email")
    page.locator("input[name=id]").first.check()
    visit(page, live, "queues")
    live.hf.enqueue(send.call("jill").options(task_id="t9", priority="high"))
    page.go_back()
    expect(page.locator("input[name=id]")).to_have_count(4)
    expect(page.locator("input[name=id]:checked")).to_have_count(0)


def test_the_tasks_of_a_queue_stay_those_of_it(tab: Tab, live: RunningApp) -> None:
    """The page chooses the first queue when none is named, and keeps it."""
    live.hf.enqueue(send.call("jill"))
    page = tab(live)
    visit(page, live, "tasks")
    expect(page.locator("select[name=queue]")).to_have_value("email")
    enqueue(live, "a", 4)
    expect(page.locator("select[name=queue] option")).to_have_count(2)
    expect(page.locator("select[name=queue]")).to_have_value("email")
    expect(page.locator("input[name=id]")).to_have_count(1)
    page.get_by_label("Id, task, reason").fill("send")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="Clear").click()
    expect(page.locator("select[name=queue]")).to_have_value("email")


def test_what_is_hard_to_undo_is_asked_by_name(tab: Tab, live: RunningApp) -> None:
    """Of the queue, and of the task; and nothing is done without the script that asks."""
    live.hf.enqueue_many([send.call("bad") for _ in range(2)])
    work(live.hf, registry)
    one = live.hf.enqueue(send.call("jill").options(task_id="one"))
    page = tab(live)
    question = page.locator("#sure-what")
    for path, button, named in (
        ("queue?name=email", "Delete all 2 dead", "Delete 2 dead tasks of email"),
        ("queue?name=email", "Delete all 1 waiting", "Delete 1 task of email"),
        ("queue?name=email", "Replay all 2 dead", "2 dead tasks of email"),
        ("task?queue=email&id=one", "Cancel", "send one of email"),
        ("failures", "Replay 2", "2 dead tasks send of email"),
    ):
        visit(page, live, path)
        page.get_by_role("button", name=button, exact=True).click()
        expect(question).to_contain_text(named)
        expect(question.locator("bdi").first).to_be_visible()
        page.get_by_role("button", name="Back", exact=True).click()
    visit(page, live, "tasks?queue=email")
    page.locator("input[name=id]").check()
    page.get_by_role("button", name="Cancel 1").click()
    expect(question).to_contain_text("Cancel 1 queued task: send one of email?")
    page.get_by_role("button", name="Back", exact=True).click()
    page.locator("input[name=id]").press("Enter")
    bare = tab(live, java_script_enabled=False, heading="Holdfast")
    assert one.status().state == "queued"
    bare.get_by_label("Your pass").fill(live.passes.issue("ann", "operator"))
    bare.get_by_role("button", name="Log in").click()
    visit(bare, live, "queue?name=email")
    bare.get_by_role("button", name="Delete all 2 dead", exact=True).click()
    expect(bare.get_by_role("button", name="Delete all 2 dead", exact=True)).to_be_visible()
    assert live.hf.queue("email").stats().dead == 2


def test_the_second_click_answers_no_question(tab: Tab, live: RunningApp) -> None:
    """The first one has brought it under the pointer."""
    live.hf.enqueue(send.call("jill"))
    page = tab(live)
    visit(page, live, "queue?name=email")
    page.evaluate(
        """() => {
            const [no, yes] = document.querySelectorAll("#sure button");
            no.style.display = "none";
            yes.style.cssText = "position: fixed; inset: 0; width: 100vw; height: 100vh";
        }"""
    )
    page.get_by_role("button", name="Delete all 1 waiting").dblclick()
    expect(page.locator("#sure")).to_be_visible()
    assert live.hf.queue("email").stats().ready == 1


def test_the_limit_that_is_typed_is_the_one_that_is_asked_for(tab: Tab, live: RunningApp) -> None:
    """By Enter as by the button; what is no limit is not asked for."""
    with live.hf.semaphore("api", limit=2).hold():
        page = tab(live)
        visit(page, live, "semaphore?name=api")
        page.get_by_label("Limit").fill("0")
        page.get_by_role("button", name="Change").click()
        expect(page.locator("#sure")).to_be_hidden()
        page.get_by_label("Limit").fill("7")
        page.get_by_label("Limit").press("Enter")
        expect(page.locator("#sure-what")).to_contain_text("Change the limit of api from 2 to 7?")
        page.get_by_role("button", name="Confirm").click()
        expect(page.locator(".flash")).to_contain_text("api has 7 permits")
    assert live.hf.semaphore("api").inspect().limit == 7
