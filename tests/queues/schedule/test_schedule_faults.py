"""Workers and the server are killed and paused, replies are lost: each occurrence comes once."""

import contextlib
import random
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack

import msgspec
import pytest

from faults.nemesis import Nemesis, kill, pause, restart
from faults.processes import Process
from faults.proxy import Proxy
from faults.servers import Server
from faults.urls import patient
from faults.waiting import eventually
from holdfast import Every, Holdfast
from holdfast.core.names import Namespace
from holdfast.queues import keys
from queues.schedule.scheduled_tasks import report
from soundness import assert_sound

OFFSETS_S = (0, 420, -420, 86_400)
"""How wrong the clocks of the workers are."""

QUIET_S = 60.0
"""Patience until the workers have caught up; the rest is for slow machines."""


@pytest.mark.parametrize(
    ("workers", "schedules", "trouble_s"),
    [(3, 5, 4.0), pytest.param(20, 100, 60.0, marks=pytest.mark.long)],
)
def test_each_occurrence_is_enqueued_once(
    fresh_server: Server, seed: int, workers: int, schedules: int, trouble_s: float
) -> None:
    namespace = f"schedules-{secrets.token_hex(4)}"
    names = [f"s{n}" for n in range(schedules)]
    with (
        Proxy(fresh_server.address) as proxy,
        Holdfast.from_url(fresh_server.url, namespace=namespace) as hf,
        ExitStack() as open_,
    ):
        hf.queue("reports").pause()  # each task stays, so that all of them can be counted
        for name in names:
            hf.schedule(name, report.call(), Every(1, phase=random.random()), missed="all")
        url = patient(proxy.url, 1)
        started = [
            open_.enter_context(
                Process.python(
                    *("-m", "queues.schedule.fault_worker", url, namespace),
                    str(OFFSETS_S[n % len(OFFSETS_S)]),
                    name=f"worker {n}",
                )
            )
            for n in range(workers)
        ]
        for worker in started:
            worker.wait_for_output("serves", 90)
        with ExitStack() as trouble:
            trouble.callback(proxy.heal)
            for n, worker in enumerate(started):
                actions = {"actions": (kill, pause), "every": (0.2, 1.5), "lasting": (0.02, 0.8)}
                trouble.enter_context(Nemesis(seed + n, [worker], **actions))
            trouble.enter_context(
                Nemesis(
                    seed,
                    [fresh_server],
                    actions=(restart, kill),
                    every=(0.5, 1.5),
                    lasting=(0, 0.2),
                )
            )
            lose_replies(proxy, seed, trouble_s)
        caught_up_ms = server_ms(fresh_server)
        eventually(lambda: all(last > caught_up_ms for last in last_instants(hf)), QUIET_S)
        for worker in started:
            worker.stop()
        check(fresh_server, hf, namespace, names)
        assert_sound(fresh_server.url, namespace)


def lose_replies(proxy: Proxy, seed: int, seconds: float) -> None:
    """Let some replies be lost for a time."""
    choices, until_s = random.Random(seed), time.monotonic() + seconds
    while time.monotonic() < until_s:
        proxy.drop_reply(match=b"EVALSHA")
        time.sleep(choices.uniform(0, 0.3))


def server_ms(server: Server) -> int:
    """Return the time of the server in ms."""
    seconds, microseconds = server.execute("TIME")
    return int(seconds) * 1000 + int(microseconds) // 1000


def last_instants(hf: Holdfast) -> Iterator[float]:
    """Yield the last instant of each schedule that was handled, in ms."""
    for status in hf.schedules():
        yield status.last_at.timestamp() * 1000 if status.last_at else 0.0


def check(server: Server, hf: Holdfast, namespace: str, names: list[str]) -> None:
    """Compare what is enqueued with what was due."""
    unit = Namespace.of(namespace).unit(keys.KIND, "reports")
    with contextlib.closing(server.client()) as client:
        bodies = client.hgetall(keys.bodies(unit))
    late: list[int] = []
    enqueued: dict[str, list[int]] = {name: [] for name in names}
    for task_id, body in bodies.items():
        name, _, instant = task_id.decode().rpartition("@")
        enqueued[name].append(int(instant))
        late.append(msgspec.json.decode(body)["enqueued_ms"] - int(instant))
    for status in hf.schedules():
        instants = sorted(enqueued[status.name])
        expected = [*range(instants[0], instants[-1] + 1, 1000)]
        assert instants == expected, f"{status.name}: {len(expected) - len(instants)} are missing"
        assert (status.fired, status.missed, status.skipped) == (len(instants), 0, 0)
    late.sort()
    print(
        f"{len(late)} occurrences, p50 {late[len(late) // 2]} ms late, p99 "
        f"{late[len(late) * 99 // 100]} ms, most {late[-1]} ms"
    )
