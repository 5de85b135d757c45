"""A feed of files, one consumer who keeps them and one who counts their lines into a tally."""

import hashlib
import io
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from faults.history import Operation
from faults.matrix.cell_result import Violation
from faults.matrix.client import AGAIN_S, Client
from faults.matrix.workloads.base import Workload
from faults.nursery import Actor
from faults.stubborn import insist
from holdfast import Counted, DamagedFile, FileTaken, Holdfast, OutcomeUnknown, ServerUnavailable
from holdfast.core.names import Namespace
from holdfast.files.keys import KIND as FEED
from holdfast.tallies.keys import KIND as TALLY

LOGS = "logs"
DAILY = "daily"
DAY = "2011-10-10"
WORDS = ["sold", "bought", "traded", "dropped"]
LINES = 3_000
LEASE_S = 1.0
BUDGET = 64 << 20
END_S = 60.0


def contents(name: str) -> bytes:
    """Return the contents of the file with this name, the same in every process."""
    dice = random.Random(name)
    count = dice.randint(1, LINES)
    return b"".join(b"%s %s\n" % (DAY.encode(), dice.choice(WORDS).encode()) for _ in range(count))


def by_word(line: bytes) -> Counted:
    """Return what a line counts for."""
    day, word = line.decode().split()
    return Counted(day, {"word": word})


def feed_of(hf: Any) -> Any:
    """Return the feed that all clients use."""
    return hf.file_feed(LOGS, consumers=["keeper", "counter"], budget=BUDGET, lease=LEASE_S)


def publish(**about: Any) -> None:
    """Send files; send a file again if it was cut short."""
    with Client(**about) as client:
        feed = feed_of(client.hf)
        last = next((op for op in reversed(client.past) if op.kind == "publish"), None)
        number = 1 if last is None else last.fields["number"] + (last.outcome == "ok")
        while not client.over:
            name = f"{client.name}-{number}"
            with client.operation("publish", name, number=number) as op:
                client.read(partial(_publish, feed, name), op)
            number += 1
            time.sleep(client.dice.uniform(0, 0.05))


def _publish(feed: Any, name: str) -> Any:
    return feed.publish(io.BytesIO(contents(name)), name=name)


def keep(**about: Any) -> None:
    """Read every file to its end, until the feed is sealed."""
    with Client(**{**about, "half": "sync", "storm_s": 0.0}) as client:
        consumer = client.hf.file_feed(LOGS).consumer("keeper")
        while True:
            try:
                for file in consumer.files():
                    with file, client.operation("keep", file.name) as op:
                        data = b"".join(block.data for block in file.blocks(raw=True))
                        op.result = hashlib.sha256(data).hexdigest()
            except (ServerUnavailable, OutcomeUnknown, FileTaken, DamagedFile) as error:
                print(type(error).__name__, error, flush=True)
                time.sleep(AGAIN_S)
            else:
                return


def count(**about: Any) -> None:
    """Count the lines of every file, until the feed is sealed."""
    with Client(**{**about, "half": "sync", "storm_s": 0.0}) as client:
        consumer = client.hf.file_feed(LOGS).consumer("counter")

        def progress(report: Any) -> None:
            with client.operation("count", DAILY) as op:
                op.result = report.lines

        while True:
            try:
                client.hf.tally(DAILY).aggregate(consumer, key=by_word, progress=progress)
            except (ServerUnavailable, OutcomeUnknown) as error:
                print(type(error).__name__, error, flush=True)
                time.sleep(AGAIN_S)
            else:
                return


class Feeds(Workload):
    """Two who publish, one who keeps, one who counts."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"publish", "keep", "count"})

    def slots(self) -> list[int]:
        space = Namespace.of(self.namespace)
        return [space.unit(FEED, LOGS).slot, space.unit(TALLY, DAILY).slot]

    def actors(self) -> list[Actor]:
        return [
            self.actor("publish", "publisher-1", "sync"),
            self.actor("publish", "publisher-2", "async"),
            self.actor("keep", "keeper", "sync"),
            self.actor("count", "counter", "sync"),
        ]

    def end(self) -> None:
        """Let publishers end, seal the feed, and let consumers read to its end."""
        (self.folder / "stop").touch()
        *publishers, keeper, counter = self.scene.actors
        for publisher in publishers:
            publisher.wait(END_S)
        self._publish_what_is_left()
        with Holdfast.from_url(self.url, namespace=self.namespace) as hf:
            insist(feed_of(hf).seal)
        for consumer in (keeper, counter):
            consumer.wait(END_S)

    def _publish_what_is_left(self) -> None:
        """Publish the files of publishers that were killed and stopped before a restart."""
        published = {op.key for op in self.history() if op.kind == "publish" and op.outcome == "ok"}
        left = {op.key for op in self.history() if op.kind == "publish"} - published
        about = {"url": self.url, "namespace": self.namespace, "folder": str(self.folder)}
        with Client(**about, name="publisher", half="sync") as client:
            feed = feed_of(client.hf)
            for name in sorted(left):
                with client.operation("publish", name) as op:
                    client.read(partial(_publish, feed, name), op)

    def repeated(self, history: Sequence[Operation]) -> int:
        """Files that were read to their end more than once."""
        kept = Counter(op.key for op in history if op.kind == "keep" and op.outcome == "ok")
        return sum(times > 1 for times in kept.values())

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        with Holdfast.from_url(self.url, namespace=self.namespace) as hf:
            sums = dict(hf.tally(DAILY).top("word", day=DAY, limit=100))
        return judge(history, sums)


def judge(history: Sequence[Operation], sums: Mapping[str, int]) -> list[Violation]:
    """Check that each file was kept byte for byte, and each of its lines counted once.

    Args:
        history: of publishers and of the keeper.
        sums: of the tally, by word.
    """
    found, lines = [], Counter[str]()
    published = {op.key: op for op in history if op.kind == "publish" and op.outcome == "ok"}
    kept = {op.key for op in history if op.kind == "keep" and op.outcome == "ok"}
    for op in history:
        is_kept = op.kind == "keep" and op.outcome == "ok"
        if is_kept and op.value != hashlib.sha256(contents(op.key)).hexdigest():
            found.append(Violation("disordered", f"other bytes than were sent: {op}"))
    for name, op in published.items():
        lines.update(contents(name).decode().split()[1::2])
        if name not in kept:
            found.append(Violation("lost", f"{name} was not read", op.return_ns))
    for word, times in lines.items():
        if sums.get(word, 0) < times:
            found.append(Violation("lost", f"{sums.get(word, 0)} of {times} lines of {word!r}"))
        if sums.get(word, 0) > times:
            found.append(Violation("doubled", f"{sums[word]} lines of {word!r}, not {times}"))
    return found
