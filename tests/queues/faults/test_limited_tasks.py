"""Workers with limited tasks are killed and paused: no key runs too many, and no task is lost."""

import contextlib
import json
import secrets
import time
from collections import Counter
from contextlib import ExitStack

import pytest
import redis

from faults.nemesis import Nemesis, kill, pause
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast.core.names import Namespace, Unit
from holdfast.queues import keys
from queues.faults.limited_worker import CONCURRENCY, QUEUE, counted, rated
from soundness import assert_sound

TENANTS = 7
TASKS = 600
DRAINED_S = 120.0


def check_running(client: redis.Redis, unit: Unit) -> int:
    """Check that no key has more tasks with a lease than it may; return how many there are."""
    pipe = client.pipeline(transaction=True)
    pipe.zrange(keys.leases(unit), 0, -1)
    pipe.hgetall(keys.bodies(unit))
    leased, bodies = pipe.execute()
    envelopes = [json.loads(bodies[task_id]) for task_id in leased]
    running = Counter((one["task"], one["args"][0]) for one in envelopes)
    for (task, tenant), number in running.items():
        assert number <= CONCURRENCY[task], f"{number} of {task} for {tenant} run"
    return len(leased)


@pytest.mark.parametrize("workers", [2, pytest.param(6, marks=pytest.mark.long)])
def test_no_key_runs_too_many_whatever_happens(
    fresh_server: Server, seed: int, workers: int
) -> None:
    namespace = f"limits-{secrets.token_hex(4)}"
    unit = Namespace.of(namespace).unit(keys.KIND, QUEUE)
    with ExitStack() as open_:
        module = ("-m", "queues.faults.limited_worker", fresh_server.url, namespace)
        started = [
            open_.enter_context(Process.python(*module, name=f"worker {n}")) for n in range(workers)
        ]
        for worker in started:
            worker.wait_for_output("serves", 90)
        hf = open_.enter_context(Holdfast.from_url(fresh_server.url, namespace=namespace))
        client = open_.enter_context(contextlib.closing(fresh_server.client()))
        hf.enqueue_many([counted.call(n % TENANTS, n) for n in range(TASKS)])
        handles = hf.enqueue_many([rated.call(n % TENANTS, n) for n in range(TASKS)])
        most, until_s = 0, time.monotonic() + 3.0
        with ExitStack() as trouble:
            for n, worker in enumerate(started):
                actions = {"actions": (kill, pause), "every": (0.3, 1.5), "lasting": (0.02, 0.8)}
                trouble.enter_context(Nemesis(seed + n, [worker], **actions))
            while time.monotonic() < until_s:
                most = max(most, check_running(client, unit))
        assert most > 1
        until_s = time.monotonic() + DRAINED_S
        while client.hlen(keys.bodies(unit)) > client.zcard(keys.dead(unit)):
            check_running(client, unit)
            assert time.monotonic() < until_s, hf.queue(QUEUE).stats()
        assert all(handle.status().state in ("done", "dead") for handle in handles[:TENANTS])
        # Only tasks that were running when their worker was killed three times are dead.
        assert client.zcard(keys.dead(unit)) < 2 * TASKS / 10
        assert_sound(fresh_server.url, namespace)
        eventually(lambda: not client.exists(keys.limit_keys(unit)))
        for worker in started:
            worker.stop()
