"""The number of partitions changes under load: no task is lost or doubled."""

import random
import threading
import time
from collections import defaultdict
from contextlib import ExitStack

import pytest

from conftest import Site
from faults.nemesis import Nemesis, kill, pause
from faults.processes import Process
from faults.waiting import eventually
from holdfast import Holdfast
from queues.partitions.partition_worker import QUEUE, in_order, plain
from soundness import assert_sound

SOME, ALL = (4, 1, 5, 3), (4, 2, 7, 1, 5, 3, 8, 4)
"""Numbers of partitions, in their order; the longer one is for `make faults-all`."""

EVERY_S = 0.4
DRAINED_S = 120.0


class Producer(threading.Thread):
    """Enqueues tasks until it is stopped, and repeats some of its operations."""

    def __init__(self, site: Site, number: int, seed: int) -> None:
        super().__init__(name=f"producer {number}")
        self.sent = 0
        self.failure: BaseException | None = None
        self._hf = Holdfast.from_url(site.url, namespace=site.namespace)
        self._number = number
        self._choices = random.Random(seed + number)
        self._stopped = threading.Event()

    def run(self) -> None:
        try:
            with self._hf as hf:
                while not self._stopped.is_set():
                    self._produce(hf)
        except BaseException as error:  # noqa: BLE001 (the test raises it)
            self.failure = error

    def _produce(self, hf: Holdfast) -> None:
        """Enqueue five tasks of each kind, and repeat earlier operations."""
        first, self.sent = self.sent, self.sent + 5
        self._enqueue(hf, first)
        for _ in range(self._choices.randint(0, 2)):
            self._enqueue(hf, 5 * self._choices.randint(max(0, first // 5 - 100), first // 5))
        time.sleep(0.01)

    def _enqueue(self, hf: Holdfast, first: int) -> None:
        numbers = range(first, first + 5)
        many = [plain.call(self._number, n) for n in numbers[1:]]
        many += [in_order.call(self._number, n) for n in numbers]
        hf.enqueue(plain.call(self._number, first), op_id=f"one {self._number} {first}")
        hf.enqueue_many(many, op_id=f"many {self._number} {first}")

    def stop(self) -> None:
        self._stopped.set()
        self.join()
        if self.failure is not None:
            raise self.failure


@pytest.mark.parametrize(
    "numbers", [pytest.param(SOME, id="some"), pytest.param(ALL, id="all", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("kills", [False, True], ids=["calm", "killed"])
def test_no_task_is_lost_or_doubled(
    site: Site, seed: int, kills: bool, numbers: tuple[int, ...]
) -> None:
    with ExitStack() as open_:
        hf = open_.enter_context(Holdfast.from_url(site.url, namespace=site.namespace))
        # In calm no worker is taken for vanished, however busy the machine is.
        lease = "1" if kills else "30"
        module = ("-m", "queues.partitions.partition_worker", site.url, site.namespace, lease)
        workers = [
            open_.enter_context(Process.python(*module, name=f"worker {n}")) for n in range(2)
        ]
        for worker in workers:
            worker.wait_for_output("serves", 90)
        producers = [Producer(site, n, seed) for n in range(3)]
        with ExitStack() as trouble:
            for n, worker in enumerate(workers if kills else ()):
                how = {"actions": (kill, pause), "every": (0.3, 1.5), "lasting": (0.02, 0.8)}
                trouble.enter_context(Nemesis(seed + n, [worker], **how))
            for producer in producers:
                producer.start()
            for number in numbers:
                hf.queue(QUEUE).repartition(number)
                time.sleep(EVERY_S)
            for producer in producers:
                producer.stop()
        queue = hf.queue(QUEUE)
        eventually(lambda: left(hf) == 0, DRAINED_S)
        check_runs(hf, site.namespace, [producer.sent for producer in producers], calm=not kills)
        queue.repartition(numbers[-1])
        assert len(queue.partitions()) == numbers[-1]
        for worker in workers:
            worker.stop()
        assert_sound(site.url, site.namespace)


def left(hf: Holdfast) -> int:
    """Return how many tasks have not ended."""
    stats = hf.queue(QUEUE).stats()
    return stats.ready + stats.delayed + stats.running


def check_runs(hf: Holdfast, namespace: str, sent: list[int], *, calm: bool) -> None:
    """Check that each task ran, in calm once; and that those with a key ran in order."""
    ids: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    firsts: dict[int, list[int]] = defaultdict(list)
    mailbox = hf.mailbox(f"runs {namespace}")
    while (messages := mailbox.fetch(limit=1000)).messages:
        for message in messages.messages:
            kind, producer, number, task_id = message.body.split()
            run = kind, int(producer), int(number)
            if run not in ids and kind == "order":
                firsts[run[1]].append(run[2])
            ids[run].append(task_id)
        mailbox.ack(messages)
    dead = {(task.task.rpartition(".")[2], *task.args) for task in hf.queue(QUEUE).dead(limit=1000)}
    for producer, count in enumerate(sent):
        for kind, name in (("plain", "plain"), ("order", "in_order")):
            missing = [n for n in range(count) if (kind, producer, n) not in ids]
            # Only a task of a worker that was killed three times is dead.
            assert all((name, producer, n) in dead for n in missing), (kind, producer, missing)
    assert [run for run, found in ids.items() if len(set(found)) > 1] == []
    if calm:
        assert [run for run, found in ids.items() if len(found) > 1] == []
        assert all(numbers == sorted(numbers) for numbers in firsts.values())
