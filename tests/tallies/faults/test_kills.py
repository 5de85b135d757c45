"""Tallies equal a direct count after random kills and pauses of publisher and consumers."""

import random
import secrets
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from faults.processes import Process, all_ended
from faults.servers import Server
from holdfast import GeoTable, Holdfast
from soundness import assert_sound
from tallies.reference import Reference
from tallies.tables import write_mmdb

CONSUMERS = 3
PATIENCE_S = 100.0


def write_logs(folder: Path, rng: random.Random, size: int) -> None:
    """Write files of some days; one is larger than the budget of the feed."""
    folder.mkdir()
    nets = ["1.0.0", "1.0.5", "8.8.8", "173.194.7", "217.3.3", "9.9.9", "10.0.0", "300.1.1"]
    for n, lines in enumerate([size * 8, *[size] * 6]):
        days = [f"2011-10-{rng.randint(10, 20)}" for _ in range(3)]
        with (folder / f"{n}.log").open("w") as log:
            for i in range(lines):
                address = f"{rng.choice(nets)}.{rng.randrange(256)}"
                log.write(f"{address} {rng.choice(days)} 13:55:36 event-{n}-{i}\n")
            log.write(rng.choice(["", "nonsense\n", "1.0.0.1 2011-10-10"]))


def play(server: Server, folder: Path, seed: int, *, size: int) -> None:
    rng, namespace = random.Random(seed), secrets.token_hex(4)
    write_logs(folder / f"logs-{seed}", rng, size)
    table = write_mmdb(folder / "places.mmdb")
    actor = ["-m", "tallies.faults.actors"]
    with ExitStack() as stack:
        publisher = Process.python(
            *actor, "publish", server.url, namespace, folder / f"logs-{seed}", name="publisher"
        )
        counters = [
            Process.python(*actor, "count", server.url, namespace, f"c{n}", table, name=f"c{n}")
            for n in range(CONSUMERS)
        ]
        actors = [publisher, *counters]
        for process in actors:
            stack.enter_context(process)
        disrupt(rng, actors)
        all_ended(actors, PATIENCE_S)
        for each in actors:
            assert each.returncode == 0, each.report()
    check(server, namespace, folder / f"logs-{seed}", GeoTable.from_mmdb(table))


def disrupt(rng: random.Random, actors: list[Process]) -> None:
    """Kill and pause processes for 8 seconds; all of them run at the end."""
    until = time.monotonic() + 8
    while time.monotonic() < until and any(each.is_running for each in actors):
        time.sleep(rng.uniform(0.1, 0.8))
        victim = rng.choice(actors)
        if not victim.is_running and victim.returncode == 0:
            continue
        if rng.random() < 0.6:
            victim.kill()
            time.sleep(rng.uniform(0, 0.3))
            victim.start()
        else:
            victim.pause()
            time.sleep(rng.uniform(0.1, 2.5))
            victim.resume()


def check(server: Server, namespace: str, folder: Path, table: GeoTable) -> None:
    """Compare the tally with a simple program that reads the files."""
    reference = Reference(table)
    for log in folder.iterdir():
        reference.add(log.read_bytes())
    with Holdfast.from_url(server.url, namespace=namespace) as hf:
        tally = hf.tally("daily")
        assert tally.days() == reference.lines
        for (day, dimension), values in reference.values.items():
            assert dict(tally.top(dimension, day=day, limit=10_000)) == values
        rejected: Counter[str] = Counter()
        for day in [*reference.rejected, None]:
            if day != "":
                rejected.update(tally.rejected(day).reasons)
        assert rejected == sum(reference.rejected.values(), Counter())
    assert_sound(server.url, namespace)


def test_tallies_equal_a_direct_count(standalone: Server, tmp_path: Path, seed: int) -> None:
    play(standalone, tmp_path, seed, size=4_000)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_tallies_equal_a_direct_count_in_thirty_rounds(
    standalone: Server, tmp_path: Path, seed: int
) -> None:
    for n in range(30):
        play(standalone, tmp_path, seed + n, size=20_000)
