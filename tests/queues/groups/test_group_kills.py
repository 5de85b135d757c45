"""Groups in one queue and in five, on one server and on a cluster, while workers are killed."""

import secrets
from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest

from faults.clusters import Cluster
from faults.nemesis import Nemesis, kill, pause
from faults.processes import Process
from faults.servers import Server
from faults.urls import patient
from faults.waiting import eventually
from holdfast import GROUP_ID, RESULT, Call, GroupHandle, Holdfast, chain, group
from queues.groups.group_worker import CALLBACKS, QUEUES, alarm, part, total
from soundness import assert_sound

MEMBERS = 35


def calls(queues: list[str], *, fails: bool = False) -> list[Call[int]]:
    """Return the members of one group."""
    return [
        part.call(n, fails=fails and n == 5).options(queue=queues[n % len(queues)])
        for n in range(MEMBERS)
    ]


def enqueue(hf: Holdfast, queues: list[str], groups: int) -> list[GroupHandle[Any]]:
    """Enqueue groups that succeed, groups that fail, and nested ones; return all handles."""
    found = []
    for n in range(groups):
        members = calls(queues, fails=n % 3 == 1)
        then, on_failure = total.call(RESULT), alarm.call(GROUP_ID)
        if n % 3 == 2:
            step = part.call(1).options(queue=queues[0])
            nested = [group(members, then=then), chain(step, step)]
            handle = hf.enqueue_group(nested, then=alarm.call(GROUP_ID), on_failure=on_failure)
            found.append(hf.group_handle(f"{handle.group_id}/0"))
        else:
            handle = hf.enqueue_group(members, then=then, on_failure=on_failure)
        found.append(handle)
    return found


def is_over(handle: GroupHandle[Any]) -> bool:
    status = handle.status()
    return not status.waiting and (
        "done" in (status.then, status.on_failure) or status.parent != ""
    )


def called(handle: GroupHandle[Any]) -> Counter[str]:
    """Return the ids of the callbacks that the group has called."""
    status = handle.status()
    states = {"then": status.then, "failure": status.on_failure}
    return Counter(f"{handle.group_id}/{name}" for name, state in states.items() if state == "done")


def check(
    server: Server | Cluster, queues: list[str], groups: int, seed: int, workers: int
) -> None:
    namespace, url = f"groups-{secrets.token_hex(4)}", patient(server.url, 1)
    with Holdfast.from_url(url, namespace=namespace) as hf, ExitStack() as open_:
        hf.queue(CALLBACKS).redefine(history=1000)
        program = ("-m", "queues.groups.group_worker", url, namespace)
        fleet = [Process.python(*program, name=f"worker {n}") for n in range(workers)]
        for worker in fleet:
            open_.enter_context(worker)
        with ExitStack() as trouble:
            for n, worker in enumerate(fleet):
                worker.wait_for_output("serves", 60)
                times = {"every": (0.3, 1.2), "lasting": (0.02, 0.5)}
                nemesis = Nemesis(seed + n, [worker], actions=(kill, kill, pause), **times)
                trouble.enter_context(nemesis)
            expected = enqueue(hf, queues, groups)
            some = expected[: groups // 2]
            eventually(lambda: all(map(is_over, some)), 60, reason="some groups end in the trouble")
        eventually(lambda: all(map(is_over, expected)), 60, reason="all groups end")
        ended = Counter(each.task_id for each in hf.queue(CALLBACKS).history(limit=1000))
        assert ended == sum(map(called, expected), Counter()), "each callback is enqueued once"
        assert len(ended) >= groups
        for handle in expected:
            status = handle.status()
            assert status.done + status.dead == status.total
            assert (status.dead > 0) == (status.on_failure == "done" or status.state == "failed")
    assert_sound(url, namespace)


@pytest.mark.parametrize(
    "queues",
    [pytest.param(QUEUES[:1], id="one", marks=pytest.mark.long), pytest.param(QUEUES, id="five")],
)
@pytest.mark.parametrize(
    "seed",
    [pytest.param(1, id="once"), *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 6))],
)
def test_callbacks_are_called_once(standalone: Server, queues: list[str], seed: int) -> None:
    check(standalone, queues, 12 if seed == 1 else 60, seed, workers=2)


@pytest.mark.long
def test_callbacks_are_called_once_on_a_cluster(cluster: Cluster) -> None:
    check(cluster, QUEUES, 9, 7, workers=2)
