"""Every screen in a real browser moves by itself, and every button does what it says."""

from __future__ import annotations

import io
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from holdfast import Counted, Holdfast, LocalFiles
from rows.table import Table
from web.dashboard.test_browser import (  # noqa: F401 (fixtures)
    Tab,
    browser,
    house,
    registry,
    send,
    tab,
    visit,
)
from web.dashboard.world import work
from web.house import House

NEWS = "newcomer"

SCREENS = (
    *("queues", "queue?name=email", "tasks?queue=email&state=queued", "task?queue=email&id=one"),
    *("failures", "workers", "locks", "lock?name=door", "semaphores", "semaphore?name=api"),
    *("mailboxes", "mailbox?name=jill", "chats", "chat?id=c", "counters"),
    *("completions?name=guild:3", "rows", "cache?name=inventory", "feeds", "feed?name=logs"),
    *("tallies", "tally?name=daily"),
)
"""All but those whose figures other tests here see moving, and the server's, which has no names."""


@pytest.mark.long
@pytest.mark.timeout(300)
def test_each_screen_shows_what_comes_by_itself(tab: Tab, house: House, tmp_path: Path) -> None:  # noqa: F811
    """Nobody presses anything."""
    house.hf.enqueue(send.call("jill").options(task_id="one"))
    house.hf.completions("guild:3").add("jeff")
    first = tab(house)
    pages = {}
    for path in SCREENS:
        pages[path] = first.context.new_page()
        visit(pages[path], house, path)
        expect(pages[path].locator("h1")).to_be_visible()
        expect(pages[path].locator("#live")).not_to_contain_text(NEWS)
    visit(first, house, "server")
    keys = first.locator("dt:text-is('Keys') + dd")
    before = keys.inner_text()
    with ExitStack() as until_seen:
        told = arrive(house.hf, tmp_path, until_seen)
        expect(keys).not_to_have_text(before)
        for path, page in pages.items():
            expect(page.locator("#live")).to_contain_text(told.get(path, NEWS))


def arrive(hf: Holdfast, folder: Path, until_seen: ExitStack) -> dict[str, str]:
    """Something new everywhere; where its name is not shown, what is shown."""
    hf.enqueue(send.call("bad").options(priority="high"))
    work(hf, registry)
    hf.enqueue_many([send.call(NEWS) for _ in range(7)])
    worker = hf.worker(registry, queues={NEWS: 1})
    thread = threading.Thread(target=worker.run)
    thread.start()
    until_seen.callback(thread.join, 20)
    until_seen.callback(worker.stop)
    for name in (NEWS, "door"):
        lease = until_seen.enter_context(hf.lock(name).hold())
    place = until_seen.enter_context(hf.semaphore("api", limit=2).hold())
    until_seen.enter_context(hf.semaphore(NEWS, limit=2).hold())
    for name in (NEWS, "jill"):
        hf.mailbox(name).send(NEWS, sender="jack")
    for name in (NEWS, "c"):
        hf.create_chat(["jill", "jack"], sender="jill", body=NEWS, chat_id=name)
    hf.counter(NEWS).add(1)
    hf.completions("guild:3").add(NEWS)
    for name in (NEWS, "inventory"):
        hf.row_cache(name, source=Table({NEWS: {"left": 3}})).schedule(NEWS, every=600.0)
    for name in (NEWS, "logs"):
        hf.file_feed(name, consumers=["geo"]).publish(io.BytesIO(b"line\n"), name=NEWS)
    (folder / "a.log").write_text(f"{NEWS}\n")
    for name in (NEWS, "daily"):
        hf.tally(name).aggregate(LocalFiles(folder), key=counted)
    return {
        "queues": "7",
        "queue?name=email": "7",
        "task?queue=email&id=one": "Done",
        "failures": "smtp said no",
        "lock?name=door": lease.holder,
        "semaphore?name=api": place.holder,
    }


def counted(line: bytes) -> Counted:
    return Counted("2011-10-10", {"who": line.decode().strip()})


@pytest.mark.long
@pytest.mark.timeout(300)
def test_each_button_does_what_it_says(tab: Tab, house: House) -> None:  # noqa: F811
    """After the question that tells how many it is about."""
    hf = house.hf
    queue = hf.queue("email")
    hf.enqueue_many([send.call("bad") for _ in range(3)])
    work(hf, registry)
    page = tab(house)
    visit(page, house, "queue?name=email")
    press(page, "Pause", said="email is paused")
    assert queue.stats().paused
    press(page, "Resume", said="email goes on")
    assert not queue.stats().paused
    press(page, "Replay all 3 dead", sure="3 dead tasks of email", said="3 tasks")
    assert (queue.stats().dead, queue.stats().ready) == (0, 3)
    work(hf, registry)
    visit(page, house, "failures")
    press(page, "Replay 3", sure="3 dead tasks", said="3 tasks")
    assert (queue.stats().dead, queue.stats().ready) == (0, 3)
    visit(page, house, "queue?name=email")
    press(page, "Drop all 3 that wait", sure="3 tasks of email", said="3")
    assert queue.stats().ready == 0
    bad = hf.enqueue(send.call("bad"))
    work(hf, registry)
    visit(page, house, f"task?queue=email&id={bad.task_id}")
    press(page, "Replay", said="In line again: 1 task")
    assert bad.status().state == "queued"
    press(page, "Cancel", sure="Cancel this task?", said="Cancelled: 1 task")
    assert bad.status().state == "cancelled"
    hf.enqueue(send.call("bad"))
    work(hf, registry)
    visit(page, house, "queue?name=email")
    press(page, "Drop all 1 dead", sure="1 dead task of email", said="1")
    assert queue.stats().dead == 0
    with hf.semaphore("api", limit=2).hold():
        visit(page, house, "semaphore?name=api")
        page.get_by_label("Limit").fill("5")
        press(page, "Change", sure="hold api at once", said="5 places")
    assert hf.semaphore("api").inspect().limit == 5


def press(page: Page, button: str, *, said: str, sure: str = "") -> None:
    """And say yes, and see what was done."""
    page.get_by_role("button", name=button, exact=True).click()
    if sure:
        expect(page.locator("#sure-what")).to_contain_text(sure)
        page.locator("#sure button[value=yes]").click()
    expect(page.locator(".said")).to_contain_text(said)
