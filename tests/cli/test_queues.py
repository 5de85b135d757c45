"""`holdfast queues`: what it shows, what it changes, and when it refuses."""

from __future__ import annotations

from datetime import UTC, datetime

from cli.filled_queue import HOSTILE, HOSTILE_ID, VISIBLE, Run, enqueue_dead, rows
from holdfast import Holdfast, PerKey, TaskRegistry


def test_queues_are_listed(filled: Holdfast, run: Run) -> None:
    """List them by name, with their numbers."""
    filled.queue("limited").redefine(capacity=10_000)
    _, busy, limited = run("queues", "ls").stdout.splitlines()
    assert busy.split() == ["crowd", "3", "1", "1", "2", "0", "-"]
    assert limited.split() == ["limited", "0", "0", "0", "0", "0", "10,000"]
    row, _ = rows(run("queues", "--json"))
    assert datetime.fromisoformat(str(row.pop("oldest_at"))) < datetime.now(UTC)
    assert row == {
        "queue": "crowd", "ready": 3, "delayed": 1, "running": 1, "dead": 2,
        "waiting_workers": 0, "paused": False, "capacity": None, "limited": 0,
        "concurrency": None, "rate": None, "partitions": 1,
    }  # fmt: skip


def test_one_queue_is_shown(filled: Holdfast, run: Run) -> None:
    """Print what is next, and why the latest tasks died, the last one first."""
    shown = run("queues", "show", "crowd").stdout
    assert shown.index("next\n") < shown.index("queued-1") < shown.index("queued-2")
    assert shown.index(HOSTILE_ID) < shown.index("  delayed  ") < shown.index("latest dead")
    assert shown.index("dead-2") < shown.index("dead-1")
    assert shown.count(f"failed: ValueError: {VISIBLE}\n") == 2
    (row,) = rows(run("queues", "show", "crowd", "--json"))
    assert (row["queue"], row["ready"], row["running"], row["dead"]) == ("crowd", 3, 1, 2)
    assert [task["task_id"] for task in row["next"]] == [
        "queued-1", "queued-2", HOSTILE_ID, "delayed",
    ]  # fmt: skip
    assert [task["reason"] for task in row["latest_dead"]] == [f"failed: ValueError: {HOSTILE}"] * 2


def test_a_blank_name_is_seen(hf: Holdfast, run: Run) -> None:
    """In a list and alone: the empty name, and one that consists of blanks."""
    task = TaskRegistry().task(name="t")(print)
    for name, shown in (("", "(no name)"), ("  ", "\u2423\u2423"), (" a b ", "\u2423a b\u2423")):
        hf.enqueue(task.call().options(queue=name))
        assert any(line.startswith(f"{shown} ") for line in run("queues").stdout.splitlines())
        assert run("queues", "show", name).stdout.splitlines()[0].split(maxsplit=1)[1] == shown
        assert f"\n{shown} " in run("top", "--once").stdout


def test_an_unused_queue_is_not_found(filled: Holdfast, run: Run) -> None:
    """Exit with code 3, and offer a similar name."""
    for command in ("show", "resume", "purge"):
        result = run("queues", command, "crwd")
        assert (result.exit_code, result.stdout) == (3, "")
        assert "there is no queue 'crwd'" in result.stderr
        assert "did you mean 'crowd'?" in result.stderr
    assert rows(run("queues", "--json"))[0]["queue"] == "crowd"


def test_pause_and_resume(filled: Holdfast, run: Run) -> None:
    """Ask nothing; print whether anything changed."""
    assert (
        "queue 'crowd' is paused: 4 tasks waiting, 1 running"
        in run("queues", "pause", "crowd").stdout
    )
    assert filled.queue("crowd").stats().paused
    assert "is still paused" in run("queues", "pause", "crowd").stdout
    assert "until `resume`" in run("queues", "show", "crowd").stdout
    resumed = rows(run("queues", "resume", "crowd", "--json"))
    assert resumed == [{"queue": "crowd", "paused": False, "changed": True}]
    assert not filled.queue("crowd").stats().paused
    assert "was not paused" in run("queues", "resume", "crowd").stdout


def test_a_queue_can_be_paused_before_it_is_used(hf: Holdfast, run: Run) -> None:
    """List it from then on; warn, because it may be a typing error."""
    result = run("queues", "pause", "future", "--json")
    assert result.exit_code == 0
    assert rows(result) == [{"queue": "future", "paused": True, "changed": True}]
    assert "queue 'future' was never used" in result.stderr
    assert hf.queue("future").stats().paused
    assert rows(run("queues", "--json"))[0]["paused"] is True
    assert run("queues", "resume", "future").exit_code == 0


def test_purge_asks_first_and_shows_how_many(filled: Holdfast, run: Run) -> None:
    """Refuse without a terminal, because no user can answer."""
    refused = run("queues", "purge", "crowd")
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "drop 4 waiting tasks of queue 'crowd'" in refused.stderr
    assert "--yes" in refused.stderr
    assert filled.queue("crowd").stats().ready == 3
    purged = run("queues", "purge", "crowd", "--yes")
    assert (purged.exit_code, purged.stdout) == (0, "dropped 4 waiting tasks of queue 'crowd'\n")
    stats = filled.queue("crowd").stats()
    assert (stats.ready, stats.delayed, stats.running, stats.dead) == (0, 0, 1, 2)


def test_purge_of_the_dead(hf: Holdfast, run: Run) -> None:
    """Keep the waiting tasks; ask nothing if there is nothing to drop."""
    enqueue_dead(hf, 3)
    assert "drop 3 dead tasks" in run("queues", "purge", "crowd", "--dead").stderr
    for number in (3, 0):
        purged = run("queues", "purge", "crowd", "--dead", "--yes", "--json")
        assert rows(purged) == [{"queue": "crowd", "dead": True, "purged": number}]
    unasked = run("queues", "purge", "crowd", "--dead")
    assert (unasked.exit_code, unasked.stdout) == (0, "dropped 0 dead tasks of queue 'crowd'\n")


def test_a_queue_is_limited(filled: Holdfast, run: Run) -> None:
    limited = run("queues", "limit", "crowd", "--concurrency", "20", "--rate", "100/60")
    assert limited.stdout == "limit of queue 'crowd': 20 at once, 100 in 60 s\n"
    assert "limit            20 at once, 100 in 60 s\n" in run("queues", "show", "crowd").stdout
    (row,) = rows(run("queues", "limit", "crowd", "--rate", "0", "--json"))
    assert row == {"queue": "crowd", "concurrency": 20, "rate": None}
    wrong = run("queues", "limit", "crowd", "--rate", "many")
    assert wrong.exit_code == 2
    assert "--rate takes AMOUNT/SECONDS, such as 100/60" in wrong.stderr
    assert run("queues", "limit", "crowd", "--concurrency", "0").stdout.endswith("no limit\n")


def test_the_most_delayed_keys_are_shown(filled: Holdfast, run: Run) -> None:
    tasks = TaskRegistry()

    @tasks.task(queue="crowd", limit=PerKey("tenant", concurrency=1))
    def sync(tenant: str) -> None: ...

    filled.enqueue_many([sync.call(tenant) for tenant in ("umbra", "acme", "acme", "acme")])
    handles = filled.enqueue_many([sync.call("umbra")])
    shown = run("queues", "show", "crowd").stdout
    assert "of these limited" in shown
    assert shown.index("sync acme") < shown.index("sync umbra")
    assert "2 waiting, 0 running; 1 at once" in shown
    shown = run("tasks", "show", "crowd", handles[0].task_id).stdout
    assert "limit key" in shown
    assert "sync umbra (it has no room yet)" in shown


def test_a_queue_is_divided(filled: Holdfast, run: Run) -> None:
    filled.queue("crowd").purge()
    assert run("queues", "partition", "crowd", "3").stdout == "queue 'crowd' has 3 partitions\n"
    tasks = TaskRegistry()

    @tasks.task(queue="crowd")
    def work(number: int) -> None:
        pass

    filled.enqueue_many([work.call(n) for n in range(300)])
    shown = run("queues", "show", "crowd").stdout
    assert "partitions       3\n" in shown
    assert shown.count("100 ready, 0 delayed, 0 running, 0 dead") == 2
    (row,) = rows(run("queues", "show", "crowd", "--json"))
    assert row["partitions"] == 3
    assert list(row["by_partition"]) == ["crowd", "crowd/1", "crowd/2"]
    assert [line.split()[0] for line in run("queues", "ls").stdout.splitlines()[1:]] == ["crowd"]
    (row,) = rows(run("queues", "partition", "crowd", "1", "--json"))
    assert row == {"queue": "crowd", "partitions": 1, "served": 3}
    wrong = run("queues", "partition", "crowd", "300")
    assert wrong.exit_code != 0
    assert "256" in wrong.stderr
