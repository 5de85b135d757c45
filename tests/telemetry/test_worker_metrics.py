"""`holdfast worker --metrics`: what one process measures."""

import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, LockTimeout, MailboxFull, PrometheusMetrics, TaskRegistry
from holdfast.core.names import Namespace

TASKS = """
from holdfast import Retry, TaskRegistry
tasks = TaskRegistry()

@tasks.task(queue="email", retry=Retry(attempts=1))
def send(well: bool) -> None:
    if not well:
        raise ValueError("canary")
"""


def send(well: bool) -> None:
    """Declare the task that the worker runs."""


SENDING = TaskRegistry().task(queue="email", name="send")(send)


@pytest.fixture
def worker(standalone: Server, tmp_path: Path) -> Iterator[tuple[Process, Holdfast]]:
    """Start a worker that serves metrics on a free port; return it with a client."""
    (tmp_path / "chores.py").write_text(TASKS)
    namespace = f"worker-{secrets.token_hex(4)}"
    where = ("--url", standalone.url, "--namespace", namespace)
    argv = ("-m", "holdfast", "worker", "chores:tasks", *where, "--metrics", "0")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    with (
        Process.python(*argv, name="worker", env={"PYTHONPATH": path}) as process,
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
    ):
        process.wait_for_output("metrics at ")
        yield process, hf


def test_a_worker_exposes_its_metrics(worker: tuple[Process, Holdfast]) -> None:
    process, hf = worker
    found = re.search(r"metrics at (http://127\.0\.0\.1:\d+/metrics)", process.output)
    assert found
    hf.enqueue_many([SENDING.call(True), SENDING.call(True), SENDING.call(False)])
    eventually(lambda: len(hf.queue("email").dead()) == 1)

    def exposed() -> str:
        return httpx.get(found[1], timeout=60.0).text

    name = 'holdfast_task_duration_seconds_count{outcome="%s",queue="email",task="send"} %s'
    eventually(lambda: name % ("done", "2.0") in exposed())
    eventually(lambda: name % ("dead", "1.0") in exposed())
    assert "process_cpu_seconds_total" in exposed()
    assert "canary" not in exposed()
    assert httpx.get(found[1], headers={"Host": "evil.test"}, timeout=60.0).status_code == 421


def test_a_client_measures_what_it_does(standalone: Server) -> None:
    """Any client of one's own, in a registry of one's own."""
    registry = CollectorRegistry()
    namespace, telemetry = f"prom-{secrets.token_hex(4)}", PrometheusMetrics(registry)
    with Holdfast.from_url(standalone.url, namespace=namespace, telemetry=telemetry) as hf:
        hf.enqueue(SENDING.call(True))
        box = hf.mailbox("jack", capacity=1)
        box.send("hi", sender="jill")
        with pytest.raises(MailboxFull):
            box.send("ho", sender="jill")
        box.fetch()
        with hf.lock("l").hold(), pytest.raises(LockTimeout):
            hf.lock("l").acquire(timeout=0.01)
    exposed = generate_latest(registry).decode()
    for line in (
        'holdfast_messages_sent_total{kind="queue",queue="email"} 1.0',
        'holdfast_messages_sent_total{kind="mailbox",queue=""} 1.0',
        'holdfast_messages_received_total{kind="mailbox"} 1.0',
        'holdfast_lock_wait_seconds_count{kind="lock",outcome="granted"} 1.0',
        'holdfast_lock_wait_seconds_count{kind="lock",outcome="timeout"} 1.0',
        'holdfast_call_duration_seconds_count{script="queues/enqueue"} 1.0',
    ):
        assert line in exposed
    assert "jack" not in exposed


def test_labels_of_a_process_are_bounded() -> None:
    registry = CollectorRegistry()
    telemetry, queues = PrometheusMetrics(registry), Namespace.of("n")
    for n in range(300):
        for verb in ("send", "process"):
            with telemetry.during(
                verb, queues.unit("queue", f"queue-{n}"), facts={"task": f"t{n}"}
            ):
                pass
        with telemetry.during("load", queues.unit("row_cache", f"cache-{n}")):
            pass
    exposed = generate_latest(registry).decode()
    for kind in ("queue-", "cache-", 'task="t'):
        assert len(set(re.findall(rf"{kind}\d+", exposed))) == 200
    assert 'holdfast_messages_sent_total{kind="queue",queue="other"} 100.0' in exposed
