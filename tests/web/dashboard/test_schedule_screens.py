"""What the screens of schedules show, and what their actions do."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Cron, Every, Once, TaskRegistry
from web.dashboard.sample_data import work
from web.dashboard.test_screens import act, done, see
from web.running import RunningApp

tasks = TaskRegistry()


@tasks.task(queue="reports")
def report(day: str) -> str:
    return day


def test_the_next_to_fire_come_first(live: RunningApp) -> None:
    live.hf.schedule("daily", report.call("a"), Every(86_400), overlap="skip")
    live.hf.schedule("hourly", report.call("b"), Every(3600))
    live.hf.schedule("paused", report.call("c"), Every(60)).pause()
    seen = see(live, "schedules")
    assert [each["name"] for each in seen["schedules"]] == ["hourly", "daily", "paused"]
    assert (seen["paused"], seen["missed"], seen["total"]) == (1, 0, 3)
    assert [each["name"] for each in see(live, "schedules", q="DAI")["schedules"]] == ["daily"]
    one = see(live, "schedule", name="daily")
    assert (one["queue"], one["task"], one["overlap"], one["last_state"]) == (
        *("reports", "report"),
        *("skip", ""),
    )
    assert len(one["instants"]) == 10
    assert one["instants"][0] == one["next_at"]


def test_a_schedule_without_a_worker_is_overdue(live: RunningApp) -> None:
    """Not the one that is due later."""
    live.hf.schedule("late", report.call("a"), Once(datetime.now(UTC) - timedelta(minutes=5)))
    live.hf.schedule("daily", report.call("a"), Every(86_400))
    client = live.visitor("viewer", Accept="text/html")
    assert client.get("/schedules").text.count(">overdue<") == 1
    assert "Overdue: no worker" in client.get("/schedule?name=late").text
    assert "Overdue: no worker" not in client.get("/schedule?name=daily").text


def test_an_operator_runs_a_schedule_now(live: RunningApp) -> None:
    live.hf.schedule("daily", report.call("a"), Every(86_400))
    text, _ = done(live, "schedule/trigger", name="daily")
    assert text.endswith(" of daily.")
    assert live.hf.queue("reports").stats().ready == 1
    work(live.hf, tasks)
    assert live.hf.queue("reports").history()[0].outcome == "done"


def test_the_durations_of_the_last_runs(live: RunningApp) -> None:
    """Those of other schedules and of other tasks do not count."""
    daily = live.hf.schedule("daily", report.call("a"), Every(86_400))
    live.hf.schedule("daily-report", report.call("b"), Every(86_400)).trigger()
    live.hf.enqueue(report.call("c"))
    for _ in range(3):
        daily.trigger()
    work(live.hf, tasks)
    one = see(live, "schedule", name="daily")
    assert len(one["durations"]) == 3
    listed = {each["name"]: each["durations"] for each in see(live, "schedules")["schedules"]}
    assert listed["daily"] == one["durations"]
    assert len(listed["daily-report"]) == 1


def test_an_operator_pauses_resumes_and_removes_a_schedule(live: RunningApp) -> None:
    handle = live.hf.schedule("daily", report.call("a"), Every(86_400))
    done(live, "schedule/pause", name="daily")
    assert handle.status().paused
    assert see(live, "schedule", name="daily")["instants"] == []
    done(live, "schedule/resume", name="daily")
    assert not handle.status().paused
    done(live, "schedule/remove", name="daily")
    assert see(live, "schedule", name="daily")["known"] is False
    for path in ("pause", "resume", "trigger", "remove"):
        assert act(live, f"schedule/{path}", name="daily").status_code == 404


def test_without_cronsim_the_stored_instant_is_shown(
    live: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resuming needs the next instant, and says which extra is missing."""
    live.hf.schedule("nightly", report.call("a"), Cron("0 3 * * *"))
    monkeypatch.setitem(sys.modules, "cronsim", None)
    assert [each["timing"] for each in see(live, "schedules")["schedules"]] == ["0 3 * * *"]
    one = see(live, "schedule", name="nightly")
    assert one["instants"] == [one["next_at"]]
    done(live, "schedule/pause", name="nightly")
    assert see(live, "schedule", name="nightly")["instants"] == []
    refused = act(live, "schedule/resume", name="nightly")
    assert refused.status_code == 500
    assert "install `holdfast[cron]`" in refused.text
