"""What the screens of the other blocks show, and what their actions do."""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from faults.waiting import eventually
from holdfast import Counted, LocalFiles, Sample, TaskRegistry
from holdfast.web.dashboard.screens.counters import figures
from web.dashboard.test_screens import act, done, see
from web.running import RunningApp


def test_a_lock_shows_its_holder_and_waiters(live: RunningApp) -> None:
    """By name, and one that is free as well."""
    with live.hf.lock("item:42").hold() as lease:
        eventually(live.hf.locks)
        [listed] = see(live, "locks")["locks"]
        assert (listed["name"], listed["holder"]) == ("item:42", lease.holder)
        assert listed["fence"] == lease.fence
        seen = see(live, "lock", name="item:42")
        assert (seen["holder"], seen["fence"]) == (lease.holder, lease.fence)
        assert 0 < seen["remaining"] <= 10
        assert see(live, "locks", q="ITEM")["total"] == 1
        assert see(live, "locks", q="none")["total"] == 0
        page = live.visitor("viewer", Accept="text/html").get("/locks").text
        assert "At most 400 locks are read, those used last; a search covers all." in page
    assert see(live, "lock", name="item:42")["holder"] is None


def test_an_operator_changes_the_limit_of_a_semaphore(live: RunningApp) -> None:
    """For everybody; what is no limit is refused."""
    with live.hf.semaphore("api", limit=2).hold():
        seen = see(live, "semaphore", name="api")
        assert (seen["limit"], seen["held"], len(seen["holders"])) == (2, 1, 1)
        assert "5 permits" in done(live, "semaphore/limit", name="api", limit="5")[0]
        assert live.hf.semaphore("api").inspect().limit == 5
        for wrong in ("0", "-1", "five", "", "9" * 12):
            assert act(live, "semaphore/limit", name="api", limit=wrong).status_code == 400
        assert live.hf.semaphore("api").inspect().limit == 5


def test_a_mailbox_shows_whether_its_owner_was_here(live: RunningApp) -> None:
    """How much waits, and what came last, the newest first."""
    box = live.hf.mailbox("jill", capacity=30)
    for number in range(25):
        box.send({"n": number}, sender="jack")
    box.ack(5)
    [listed] = see(live, "mailboxes")["mailboxes"]
    assert (listed["name"], listed["status"]["unread"]) == ("jill", 20)
    box.ack(25)
    page = live.visitor("viewer", Accept="text/html").get("/mailboxes").text
    assert '<td class="tight">—</td>' in page  # no unread message, so no oldest one
    seen = see(live, "mailbox", name="jill")
    assert seen["status"]["last_seen_at"]
    assert len(seen["messages"]) == 20
    assert (seen["messages"][0]["seq"], seen["messages"][0]["body"]) == (25, '{"n":24}')


def test_a_chat_names_the_slowest_member(live: RunningApp) -> None:
    """And of how many messages that one alone."""
    who = ["ann", "bob", "carol"]
    chat = live.hf.create_chat(who, sender="ann", body=0, chat_id="c", keep="until_read")
    for number in range(9):
        chat.send(number, sender="ann")
    inboxes = {name: live.hf.inbox(name) for name in who}  # who sends has read
    [batch] = inboxes["bob"].fetch(limit=4)
    inboxes["bob"].ack(batch)
    visitor, neutral = live.visitor("viewer", Accept="text/html"), 'class="banner neutral"'
    assert "are kept for" in visitor.get("/chat?id=c").text
    hold = see(live, "chat", id="c")["hold"]
    assert (hold["user"], hold["messages"], hold["alone"]) == ("carol", 10, 4)
    assert (hold["others"], bool(hold["lets_go_at"])) == (0, True)
    for name in ("bob", "carol"):
        [batch] = inboxes[name].fetch()
        inboxes[name].ack(batch)
    assert see(live, "chat", id="c")["hold"] is None
    page = visitor.get("/chat?id=c").text
    assert "<b>No active member has unread messages.</b>" in page
    assert neutral not in page
    assert [each["chat_id"] for each in see(live, "chats")["chats"]] == ["c"]
    assert see(live, "chat", id="gone")["status"] is None
    live.hf.create_chat(who, sender="ann", body=0, chat_id="short", keep=20)
    page = visitor.get("/chat?id=short").text  # no good state, so it is not green
    assert "<p>The chat keeps its newest 20 messages. " in page
    assert neutral in page


def test_a_counter_is_shown_in_any_precision_and_as_a_sheet(live: RunningApp) -> None:
    """In which nothing is run, whatever the counter is called."""
    name = "=HYPERLINK(1)"
    live.hf.counter(name, precisions=[60, 3600], keep=10).add(7)
    seen = see(live, "counter", name=name)
    assert (seen["precision"], seen["total"], len(seen["samples"])) == (60, 7, 10)
    [listed] = see(live, "counters")["counters"]
    assert listed["recent"][0] == 0  # the sample before the first count; none earlier
    assert (listed["total"], len(listed["recent"]) <= 3) == (7, True)
    assert (seen["least"], seen["most"]) == (7, 7)  # not the empty minutes before the first count
    seen = see(live, "counter", name=name, precision=3600, last=500)
    assert (seen["total"], seen["state"]["keep"]) == (7, 10)
    viewer = live.visitor("viewer")
    answer = viewer.get("/counter.csv", params={"name": name, "precision": 60, "last": 5})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="counter.csv"'
    header, *rows = csv.reader(io.StringIO(answer.text))
    assert header == ["start", "'=HYPERLINK(1)"]
    assert (len(rows), sum(int(value) for _, value in rows)) == (5, 7)
    assert viewer.get("/counter.json", params={"name": name, "precision": 5}).status_code == 400


@pytest.mark.parametrize(
    ("values", "charted", "rate", "extremes"),
    [
        ([0, 0, 60, 120, 30], [0, 60, 120], 1.5, (60, 120)),
        ([0, 0, 0, 0, 30], [0, 30], None, (30, 30)),
        ([60, 0, 60, 0, 0], [60, 0, 60, 0], 0.5, (0, 60)),
    ],
)
def test_figures_of_a_counter_leave_out_the_current_sample(
    values: list[int], charted: list[int], rate: float | None, extremes: tuple[int, int]
) -> None:
    """It is incomplete; only the total has it. The samples are those of one minute each."""
    start = datetime(2026, 3, 14, 17, 0, tzinfo=UTC)
    samples = [Sample(start + n * timedelta(minutes=1), each) for n, each in enumerate(values)]
    found = figures(samples, 60)
    assert [sample.value for sample in found["charted"]] == charted
    assert (found["total"], found["rate"]) == (sum(values), rate)
    assert (found["least"], found["most"]) == extremes


def test_completions_are_tried(live: RunningApp) -> None:
    """Show completions, and the names that were used recently."""
    live.hf.completions("guild:3").add_many(["jeff", ("Carla Santos", "42")])
    live.hf.recent("player:7").touch("jenny")
    seen = see(live, "completions", q="san")
    assert (seen["name"], seen["count"], seen["known"]) == ("guild:3", 2, ["guild:3"])
    assert seen["matches"] == [{"name": "Carla Santos", "id": "42"}]
    seen = see(live, "completions", kind="recent", name="player:7", q="JE")
    assert [match["name"] for match in seen["matches"]] == ["jenny"]


class Rows:
    """A table of one row, which was asked for so often."""

    def __init__(self) -> None:
        self.asked = 0

    def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
        """Return a row that changes with each load."""
        self.asked += 1
        return {each: {"left": 100 - self.asked} for each in ids}


def test_a_row_is_explained_and_invalidated(live: RunningApp) -> None:
    """Load the row again after its invalidation."""
    rows = Rows()
    cache = live.hf.row_cache("inventory", source=rows)
    cache.schedule(("eu", 7), every=600.0)
    cache.refresh_due()
    assert [each["name"] for each in see(live, "rows")["caches"]] == ["inventory"]
    seen = see(live, "cache", name="inventory")
    assert [each["id"] for each in seen["rows"]] == ['["eu",7]']
    seen = see(live, "cache", name="inventory", id='["eu", 7]')["row"]
    assert (seen["value"], seen["explanation"]["state"]) == ({"left": 99}, "fresh")
    assert "due every 600 s" in seen["text"]
    done(live, "row/invalidate", name="inventory", id='["eu",7]')
    seen = see(live, "cache", name="inventory", id='["eu",7]')["row"]
    assert (seen["value"], seen["explanation"]["state"]) == (None, "uncached")
    assert cache.refresh_due().stored == 1
    for odd in ("[]", "[1.5]", "true", "{", "[[1]]", "1" * 30):
        answer = live.visitor("viewer").get("/cache.json", params={"name": "x", "id": odd})
        assert answer.status_code in (200, 400)


def test_the_page_of_feeds_has_the_name_that_the_menu_says(live: RunningApp) -> None:
    page = live.visitor("viewer", Accept="text/html").get("/feeds").text
    assert 'aria-current="page">File feeds</a>' in page
    assert "<h1>File feeds</h1>" in page


def test_a_feed_shows_how_far_its_consumers_are(live: RunningApp) -> None:
    """Show which files are left for each consumer."""
    feed = live.hf.file_feed("logs", consumers=["a", "b"])
    for name in ("one.log", "two.log"):
        feed.publish(io.BytesIO(b"line\n" * 100), name=name)
    for file in feed.consumer("a").files(timeout=0):
        with file:
            assert len(list(file.lines())) == 100
    [listed] = see(live, "feeds")["feeds"]
    assert (listed["status"]["name"], listed["done"]) == ("logs", 0.0)
    seen = see(live, "feed", name="logs")
    assert [each["behind"] for each in seen["status"]["consumers"]] == [0, 1000]
    assert [(file["name"], file["waits_for"]) for file in seen["files"]] == [
        ("two.log", ["b"]),
        ("one.log", ["b"]),
    ]


def test_a_tally_is_shown_by_day_and_dimension(live: RunningApp, tmp_path: Any) -> None:
    """The last day and the largest dimension at first; and as a sheet."""
    (tmp_path / "a.log").write_text("2011-10-09 US\n2011-10-10 DE\n2011-10-10 +DE\nnonsense\n")

    def by_country(line: bytes) -> Counted | None:
        day, _, country = line.decode().partition(" ")
        return Counted(day, {"country": country}) if country else None

    live.hf.tally("daily").aggregate(LocalFiles(tmp_path), key=by_country)
    [listed] = see(live, "tallies")["tallies"]
    assert listed == {"name": "daily", "days": {"2011-10-09": 1, "2011-10-10": 2}}
    seen = see(live, "tally", name="daily")
    assert (seen["day"], seen["dimension"], seen["total"]) == ("2011-10-10", "country", 2)
    assert sorted(count["value"] for count in seen["counts"]) == ["+DE", "DE"]
    seen = see(live, "tally", name="daily", day="2011-10-09")
    assert [count["value"] for count in seen["counts"]] == ["US"]
    answer = live.visitor("viewer").get("/tally.csv", params={"name": "daily"})
    assert sorted(csv.reader(io.StringIO(answer.text))) == [
        ["'+DE", "1"],
        ["DE", "1"],
        ["country", "lines"],
    ]


def test_workers_of_a_supervisor_show_their_group_and_memory(live: RunningApp) -> None:
    registry = TaskRegistry()

    @registry.task(queue="email")
    def send() -> None: ...

    worker = live.hf.worker(registry, group="blue-green")
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        eventually(live.hf.workers)
        html = live.visitor("viewer").get("/workers").text
    finally:
        worker.stop()
        thread.join()
    assert "<th>Group</th>" in html
    assert re.search(r"<td class=\"mono\">\S*blue-green", html)
    assert re.search(r"[0-9.]+ MiB", html)


def test_a_queue_with_partitions_shows_each_of_them(live: RunningApp) -> None:
    """One row in the list, one table on its page, and actions for the whole."""
    tasks = TaskRegistry()

    @tasks.task(queue="crowd")
    def nothing() -> None:
        """Do nothing."""

    live.hf.queue("crowd").repartition(3)
    live.hf.enqueue_many([nothing.call() for _ in range(300)])
    listed = [each["name"] for each in see(live, "queues")["queues"]]
    assert [name for name in listed if name.startswith("crowd")] == ["crowd"]
    seen = see(live, "queue", name="crowd")
    assert [*seen["partitions"]] == ["crowd", "crowd/1", "crowd/2"]
    assert sum(each["ready"] for each in seen["partitions"].values()) == 300
    assert (seen["stats"]["ready"], seen["stats"]["partitions"]) == (300, 3)
    page = live.visitor("viewer").get("/queue", params={"name": "crowd"}).text
    assert "3 partitions" in page
    assert "crowd/2" in page
    done(live, "queue/pause", queue="crowd")
    assert all(each["paused"] for each in see(live, "queue", name="crowd")["partitions"].values())
