"""The queue's order and bookkeeping, against a model that was written from the promises."""

import secrets
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.stateful import run_state_machine_as_test

from faults.servers import Server
from queues.model.machine import SOON_S, QueueMachine
from queues.model.queue_server import QueueServer


def check(server: Server, examples: int, steps: int, *, seed: int | None) -> None:
    """Let the machine run; without a seed it does the same each time."""
    namespace = f"model-{secrets.token_hex(4)}"
    with QueueServer(server, namespace) as queue_server:
        machine = type("Machine", (QueueMachine,), {"server": queue_server})
        if seed is not None:
            machine = seeded(seed)(machine)
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                derandomize=seed is None,
                database=None,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=list(HealthCheck),
            ),
        )
        for key in queue_server.plain.scan_iter(f"{namespace}:*"):
            assert queue_server.plain.ttl(key) > 0 or b"{layout:" in key, key


@pytest.fixture
def machine(standalone: Server) -> Iterator[QueueMachine]:
    """Return a machine for the cases that each run must cover."""
    with QueueServer(standalone, f"model-{secrets.token_hex(4)}") as queue_server:
        machine: QueueMachine = type("Machine", (QueueMachine,), {"server": queue_server})()
        yield machine
        machine.teardown()


def a_task(task_id: str, **options: object) -> dict[str, object]:
    return {"task_id": task_id, "priority": "medium", "expires": None, "unique": None, **options}


def test_what_is_taken_back_and_claimed_in_one_step_still_expires(machine: QueueMachine) -> None:
    machine.begin(0, [a_task("a", expires=3600.0)], perishable="a")
    machine.vanish(0, worker=0, want=1, max_crashes=3)
    machine.claim(0, 1, want=1, poison_limit=1, lease_ms=60_000, max_crashes=3, again=True)
    machine.public_answers_are_true()


def test_one_poison_task_at_a_time(machine: QueueMachine) -> None:
    """Three tasks were with a worker that vanished: each is given to a worker of its own."""
    machine.begin(0, [a_task(task_id) for task_id in "abcd"], perishable="")
    machine.vanish(0, worker=0, want=3, max_crashes=3)
    for _ in range(3):
        machine.claim(0, 1, want=3, poison_limit=1, lease_ms=60_000, max_crashes=2, again=True)
    assert machine.models[0].count("running") == 4
    machine.public_answers_are_true()


def test_snoozes_and_given_up_tasks_are_counted_apart(machine: QueueMachine) -> None:
    """A snooze is no attempt; a crash and a replay in between change neither count nor record."""
    machine.begin(0, [a_task(task_id) for task_id in "abc"], perishable="")
    for _ in range(3):
        machine.claim(0, 0, want=3, poison_limit=3, lease_ms=60_000, max_crashes=3, again=True)
        ends = [(0, ("snooze", 0)), (1, ("snooze", 2)), (2, ("retry", 0))]
        machine.settle(0, 0, want=0, poison_limit=0, lease_ms=60_000, picks=ends, again=True)
        machine.public_answers_are_true()
    machine.vanish(0, worker=1, want=3, max_crashes=3)
    machine.claim(0, 2, want=3, poison_limit=3, lease_ms=60_000, max_crashes=3, again=True)
    assert [task.snoozes for task in machine.models[0].tasks.values()] == [3, 3, 0]
    ends = [(0, ("give_up", 0)), (1, ("give_up", 0)), (2, ("dead", 0))]
    machine.settle(0, 2, want=0, poison_limit=0, lease_ms=60_000, picks=ends, again=True)
    assert machine.models[0].ended == Counter(snoozed=6, retried=3, dead=1, gave_up=2)
    machine.public_answers_are_true()
    machine.replay(0, task_ids=None, writer=0, again=True)
    assert [task.snoozes for task in machine.models[0].tasks.values()] == [0, 0, 0]
    machine.public_answers_are_true()


def test_a_crash_of_a_child_process_counts_as_one_of_a_worker(machine: QueueMachine) -> None:
    """The task runs again at once, apart from other poison tasks, and is dead after the third."""
    machine.begin(0, [a_task("a"), a_task("b")], perishable="")
    machine.vanish(0, worker=1, want=1, max_crashes=3)
    for crashes in (1, 2):
        machine.claim(0, 0, want=1, poison_limit=1, lease_ms=60_000, max_crashes=3, again=True)
        assert machine.models[0].tasks["a"].crashes == crashes
        ends = [(0, ("crash", 0))]
        machine.settle(0, 0, want=0, poison_limit=0, lease_ms=60_000, picks=ends, again=True)
        machine.public_answers_are_true()
    assert machine.models[0].count("dead") == 1
    assert machine.models[0].ended == Counter(dead=1)
    machine.replay(0, task_ids=None, writer=0, again=True)
    assert machine.models[0].tasks["a"].crashes == 0
    machine.public_answers_are_true()


def test_a_delayed_task_that_takes_turns_is_in_one_place(machine: QueueMachine) -> None:
    """The step that gives it a place in the due set claims it, too."""
    machine.begin(0, [a_task("a", delay=SOON_S, limit="turns x")], perishable="")
    machine.claim(0, 0, want=1, poison_limit=1, lease_ms=60_000, max_crashes=3, again=True)
    assert machine.models[0].count("running") == 1
    machine.public_answers_are_true()


def test_a_claim_that_ended_a_step_may_store_it_again(machine: QueueMachine) -> None:
    """The second call is taken for a repetition, and changes nothing."""
    machine.begin(0, [a_task("a")], perishable="")
    machine.claim(0, 0, want=1, poison_limit=1, lease_ms=60_000, max_crashes=3, again=True)
    machine.wait_step(0, pick=0, kind="sleep", wait_ms=0)
    machine.record_step(0, pick=0, ahead=0)
    machine.public_answers_are_true()


def test_a_part_of_an_operation_supersedes_an_earlier_one(machine: QueueMachine) -> None:
    """The second queue is full, and the first one has stored its task."""
    machine.begin(0, [], perishable="")
    machine.enqueue_many([(0, a_task("a")), (0, a_task("b"))], client=0, writer=1, again=False)
    machine.enqueue(1, a_task("c"), client=0, writer=0, again=False)
    machine.redefine(1, capacity=1, client=0, writer=0, again=False)
    machine.enqueue_many([(0, a_task("d")), (1, a_task("e"))], client=0, writer=1, again=False)
    machine.repeat_the_last_write(writer=1)
    machine.public_answers_are_true()


def test_what_gets_its_place_in_a_step_follows_what_was_due(machine: QueueMachine) -> None:
    """Both are due in the same millisecond, and the delayed one has the lower id."""
    machine.begin(0, [a_task("b")], perishable="")
    machine.claim(0, 0, want=1, poison_limit=1, lease_ms=60_000, max_crashes=3, again=True)
    delayed = a_task("a", at=2000.0, limit="turns y")
    machine.enqueue(0, delayed, client=0, writer=0, again=False)
    ends = [(0, ("suspend", 0))]
    machine.settle(0, 0, want=2, poison_limit=1, lease_ms=60_000, picks=ends, again=True)
    assert [task_id for task_id, _ in machine.claims[0]] == ["b", "b", "a"]
    machine.public_answers_are_true()


def test_a_queue_at_its_limit_claims_nothing(machine: QueueMachine) -> None:
    """Neither tasks with a limit of their own, nor others; those that run keep their places."""
    machine.begin(0, [a_task(task_id, limit="all x") for task_id in "abc"], perishable="")
    machine.enqueue(0, a_task("d"), client=0, writer=0, again=False)
    machine.limit(0, concurrency=1, rate=(2, 3_600_000), writer=0, again=True)
    for running in (1, 1):
        machine.claim(0, 0, want=3, poison_limit=1, lease_ms=60_000, max_crashes=3, again=True)
        assert machine.models[0].count("running") == running
        machine.public_answers_are_true()
    machine.limit(0, concurrency=None, rate=(0, 0), writer=0, again=False)
    ends = [(0, ("retry_key", 3_600_000))]
    machine.settle(0, 0, want=3, poison_limit=1, lease_ms=60_000, picks=ends, again=True)
    assert machine.models[0].count("running") == 1
    machine.public_answers_are_true()


def test_a_task_that_waits_is_woken_by_its_signal(machine: QueueMachine) -> None:
    """It is put away in between, crashes once, and is replayed; the steps stay as they are."""
    machine.begin(0, [a_task("a", expires=3600.0, limit="one x")], perishable="a")
    machine.claim(0, 0, want=1, poison_limit=1, lease_ms=60_000, max_crashes=3, again=True)
    machine.record_step(0, pick=0, ahead=1)
    machine.wait_step(0, pick=0, kind="wait", wait_ms=-1)
    ends = [(0, ("suspend", 0))]
    machine.settle(0, 0, want=0, poison_limit=0, lease_ms=60_000, picks=ends, again=True)
    machine.public_answers_are_true()
    for name in ("other", "go", "go"):
        machine.signal(0, "a", name, writer=0, again=True)
    machine.vanish(0, worker=1, want=1, max_crashes=3)
    machine.claim(0, 0, want=1, poison_limit=1, lease_ms=60_000, max_crashes=3, again=True)
    machine.wait_step(0, pick=0, kind="wait", wait_ms=-1)
    machine.record_step(0, pick=0, ahead=1)
    machine.settle(
        0, 0, want=0, poison_limit=0, lease_ms=60_000, picks=[(0, ("dead", 0))], again=True
    )
    machine.replay(0, task_ids=None, writer=0, again=True)
    steps = machine.models[0].tasks["a"].steps
    assert steps is not None
    assert (steps.ended, [name for _, _, name in steps.signals]) == (3, ["other", "go"])
    machine.claim(0, 0, want=1, poison_limit=1, lease_ms=60_000, max_crashes=3, again=True)
    machine.settle(
        0, 0, want=0, poison_limit=0, lease_ms=60_000, picks=[(0, ("done", 0))], again=True
    )
    machine.public_answers_are_true()
    assert machine.models[0].tasks == {}


def test_a_retried_task_takes_its_turn_behind_what_starts_before_it(machine: QueueMachine) -> None:
    """The tasks of a step start together, if the limits only make keys take turns."""
    x = [a_task(task_id, limit="turns x") for task_id in "abcef"]
    y, plain = a_task("h", limit="turns y"), [a_task("d"), a_task("g")]
    machine.begin(0, x[:3], perishable="", only_turns=True)
    claims = {"poison_limit": 1, "lease_ms": 60_000, "max_crashes": 3, "again": False}
    machine.claim(0, 0, want=3, **claims)
    machine.enqueue_many([(0, one) for one in (*plain, y)], 0, 0, again=False)
    machine.claim(0, 1, want=1, **claims)
    machine.enqueue_many([(0, one) for one in x[3:]], 0, 0, again=False)
    retried = [(3, ("retry", 0))]
    machine.settle(0, 1, want=2, poison_limit=0, lease_ms=60_000, picks=retried, again=False)
    machine.public_answers_are_true()


@pytest.mark.timeout(600)  # a failing example is made small before it is reported
def test_the_queue_does_as_the_model_does(standalone: Server) -> None:
    """The same examples each time: what fails here fails everywhere."""
    check(standalone, 6, 30, seed=None)


@pytest.mark.long
def test_the_queue_does_as_the_model_does_for_long(standalone: Server, seed: int) -> None:
    check(standalone, 1500, 60, seed=seed)
