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
from web.browsers import Tab, visit
from web.dashboard.sample_data import work
from web.dashboard.test_browser import registry, send
from web.running import RunningApp

NEWS = "newcomer"

SCREENS = (
    *("queues", "queue?name=email", "tasks?queue=email&state=queued", "task?queue=email&id=one"),
    *("failures", "workers", "locks", "lock?name=door", "semaphores", "semaphore?name=api"),
    *("mailboxes", "mailbox?name=jill", "chats", "chat?id=c", "counters"),
    *("completions?name=guild:3", "rows", "cache?name=inventory", "feeds", "feed?name=logs"),
    *("tallies", "tally?name=daily"),
)
"""All screens except those that other tests cover, and the server's, which shows no names."""


@pytest.mark.long
@pytest.mark.timeout(300)
def test_each_screen_shows_what_comes_by_itself(tab: Tab, live: RunningApp, tmp_path: Path) -> None:
    live.hf.enqueue(send.call("jill").options(task_id="one"))
    live.hf.completions("guild:3").add("jeff")
    first = tab(live)
    pages = {}
    for path in SCREENS:
        pages[path] = first.context.new_page()
        visit(pages[path], live, path)
        expect(pages[path].locator("h1")).to_be_visible()
        expect(pages[path].locator("#live")).not_to_contain_text(NEWS)
    visit(first, live, "server")
    keys = first.locator("dt:text-is('Keys') + dd")
    before = keys.inner_text()
    with ExitStack() as until_seen:
        news = arrive(live.hf, tmp_path, until_seen)
        expect(keys).not_to_have_text(before)
        for path, page in pages.items():
            expect(page.locator("#live")).to_contain_text(news.get(path, NEWS))


def arrive(hf: Holdfast, folder: Path, until_seen: ExitStack) -> dict[str, str]:
    """Add an entry to every block; return the text to expect where the page shows no name."""
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
def test_each_button_does_what_it_says(tab: Tab, live: RunningApp) -> None:
    """Each button first asks for confirmation and shows how many items it changes."""
    hf = live.hf
    queue = hf.queue("email")
    hf.enqueue_many([send.call("bad") for _ in range(3)])
    work(hf, registry)
    page = tab(live)
    visit(page, live, "queue?name=email")
    press(page, "Pause", flash="email is paused")
    assert queue.stats().paused
    press(page, "Resume", flash="email is resumed")
    assert not queue.stats().paused
    press(page, "Replay all 3 dead", sure="3 dead tasks of email", flash="3 tasks")
    assert (queue.stats().dead, queue.stats().ready) == (0, 3)
    work(hf, registry)
    visit(page, live, "failures")
    press(page, "Replay 3", sure="3 dead tasks", flash="3 tasks")
    assert (queue.stats().dead, queue.stats().ready) == (0, 3)
    visit(page, live, "queue?name=email")
    press(page, "Delete all 3 waiting", sure="3 tasks of email", flash="3")
    assert queue.stats().ready == 0
    bad = hf.enqueue(send.call("bad"))
    work(hf, registry)
    visit(page, live, f"task?queue=email&id={bad.task_id}")
    press(page, "Replay", flash="Replayed 1 task")
    assert bad.status().state == "queued"
    press(page, "Cancel", sure="Cancel this task?", flash="Cancelled 1 task")
    assert bad.status().state == "cancelled"
    hf.enqueue(send.call("bad"))
    work(hf, registry)
    visit(page, live, "queue?name=email")
    press(page, "Delete all 1 dead", sure="1 dead task of email", flash="1")
    assert queue.stats().dead == 0
    with hf.semaphore("api", limit=2).hold():
        visit(page, live, "semaphore?name=api")
        page.get_by_label("Limit").fill("5")
        press(page, "Change", sure="the limit of api", flash="5 permits")
    assert hf.semaphore("api").inspect().limit == 5


def press(page: Page, button: str, *, flash: str, sure: str = "") -> None:
    """And say yes, and see what was done."""
    page.get_by_role("button", name=button, exact=True).click()
    if sure:
        expect(page.locator("#sure-what")).to_contain_text(sure)
        page.locator("#sure button[value=yes]").click()
    expect(page.locator(".flash")).to_contain_text(flash)
