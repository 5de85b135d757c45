"""What the screens of groups show, and how they cancel one."""

from __future__ import annotations

from holdfast import Retry, TaskRegistry
from web.dashboard.sample_data import work
from web.dashboard.test_screens import done, see
from web.running import RunningApp

tasks = TaskRegistry()


@tasks.task(queue="parts", retry=Retry(attempts=1))
def load(part: int) -> int:
    if part < 0:
        raise ValueError("no such part")
    return part


def test_groups_and_their_failed_members_are_shown(live: RunningApp) -> None:
    live.hf.enqueue_group(
        [load.call(1), load.call(-1)], on_failure=load.call(5), group_id="nightly"
    )
    work(live.hf, tasks)
    live.hf.enqueue_group([load.call(1)], group_id="weekly")
    seen = see(live, "groups")
    assert [each["name"] for each in seen["groups"]] == ["weekly", "nightly"]
    assert (seen["running"], seen["failed"]) == (1, 1)
    assert [each["name"] for each in see(live, "groups", q="WEEK")["groups"]] == ["weekly"]
    one = see(live, "group", name="nightly")
    assert (one["total"], one["done"], one["dead"], one["failure"]) == (2, 1, 1, "done")
    (member,) = one["members"]
    assert (member["index"], member["state"]) == (1, "dead")
    assert "no such part" in member["reason"]


def test_waiting_members_do_not_hide_those_that_failed(live: RunningApp) -> None:
    parts = [load.call(part).options(queue="later") for part in range(60)]
    live.hf.enqueue_group([*parts, load.call(-1)], group_id="nightly")
    live.hf.worker(tasks, queues={"parts": 1}).run(until_idle=True)
    states = [each["state"] for each in see(live, "group", name="nightly")["members"]]
    assert states == ["dead"] + ["waiting"] * 49


def test_an_operator_cancels_a_group(live: RunningApp) -> None:
    handle = live.hf.enqueue_group([load.call(1)], group_id="nightly")
    text, _ = done(live, "group/cancel", name="nightly")
    assert text.startswith("nightly is cancelled")
    assert handle.status().state == "cancelled"
