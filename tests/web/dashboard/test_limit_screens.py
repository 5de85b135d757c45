"""What the screens show of rate limiters and of limits of tasks, and what their actions do."""

from __future__ import annotations

import threading

from faults.waiting import eventually
from holdfast import ClientClosed, Limit, PerKey, TaskRegistry
from web.dashboard.test_screens import act, done, see
from web.running import RunningApp

tasks = TaskRegistry()


@tasks.task(queue="sync", limit=PerKey("tenant", concurrency=1))
def sync_tenant(tenant: str) -> None:
    pass


def test_a_rate_limiter_shows_what_is_used_and_what_waits(live: RunningApp) -> None:
    limiter = live.hf.rate_limit("api", Limit(2, per=60.0), Limit(90, per=60.0, name="tokens"))
    limiter.acquire({"tokens": 30})
    limiter.acquire({"tokens": 10})

    def wait() -> None:
        try:
            limiter.acquire({"tokens": 5})
        except ClientClosed as error:
            errors.append(error)

    errors: list[Exception] = []
    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: limiter.peek().limits[0].reserved == 1)
    page = live.visitor("viewer", Accept="text/html").get("/limit?name=api").text
    assert "The calls that wait have reserved a later time. “Used” includes them." in page
    seen = see(live, "limit", name="api")
    requests, tokens = seen["limits"]
    assert (requests["used"], requests["amount"], requests["reserved"]) == (2, 2, 1)
    assert (tokens["name"], tokens["used"], tokens["reserved"]) == ("tokens", 45, 5)
    assert not seen["allowed"]
    assert seen["retry_after"] > 50
    [listed] = see(live, "limits", q="api")["limiters"]
    assert listed["name"] == "api"
    assert [each["amount"] for each in listed["limits"]] == [2, 90]
    assert see(live, "limits", q="none")["limiters"] == []
    live.hf.close()
    thread.join(30)
    assert len(errors) == 1


def test_an_operator_resets_one_subject(live: RunningApp) -> None:
    limiter = live.hf.rate_limit("api", Limit(1, per=3600.0))
    limiter.try_acquire()
    limiter.of("user:7").try_acquire()
    assert see(live, "limit", name="api", subject="user:7")["limits"][0]["used"] == 1
    text, _ = done(live, "limit/reset", name="api", subject="user:7")
    assert text.startswith("user:7 of api is reset.")
    assert limiter.of("user:7").try_acquire()
    assert not limiter.try_acquire()
    done(live, "limit/reset", name="api")
    assert limiter.try_acquire()
    assert act(live, "limit/reset", name="other").status_code == 404
    assert not see(live, "limit", name="other")["known"]


def test_a_queue_shows_its_most_delayed_keys(live: RunningApp) -> None:
    assert see(live, "queue", name="sync")["delayed_keys"] == []
    for tenant, amount in (("acme", 4), ("bits", 2)):
        for _ in range(amount):
            live.hf.enqueue(sync_tenant.call(tenant=tenant))
    live.hf.queue("sync").limit(concurrency=5)
    seen = see(live, "queue", name="sync")
    found = [(each["key"], each["waiting"]) for each in seen["delayed_keys"]]
    assert found == [("acme", 3), ("bits", 1)]
    assert seen["stats"]["limited"] == 4
    page = live.visitor("viewer").get("/queue", params={"name": "sync"}).text
    assert "Most delayed keys" in page
    assert "5 tasks at once" in page
