"""A year goes by on the server's clock, with only the writer alive: memory stays bounded."""

import random
from pathlib import Path

from faults.clock import Clock, needs_faketime
from faults.servers import Server
from holdfast import Holdfast

DAY_S = 86_400.0


@needs_faketime
def test_memory_stays_bounded_and_precisions_agree(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    clock = Clock(tmp_path)
    with Server(env=clock.env) as server, Holdfast.from_url(server.url, namespace="year") as hf:
        hits, abandoned = hf.counter("hits"), hf.counter("abandoned")
        abandoned.add()
        sizes = []
        off_s, written = 0.0, 0
        while off_s < 400 * DAY_S:
            off_s += dice.choice([0.5, 3.0, 60.0, 4000.0, 1.5 * DAY_S])
            clock.set(off_s)
            hits.add(1)
            written += 1
            if written % 50 == 0:
                sizes.append(server.execute("MEMORY", "USAGE", "year:{counter:hits}:1:0") or 0)
                agree(hf)
        with server.client() as client:
            keys = [key.decode() for key in client.scan_iter(match="year:{counter:*")]
            chunks = [key for key in keys if key.endswith((":0", ":1")) and "ledger" not in key]
            fields = sum(map(client.hlen, chunks))
        assert written > 500
        assert len([key for key in keys if "{counter:hits}" in key]) <= 14 + 1 + 2
        assert fields <= 7 * 2 * 120
        assert max(sizes, default=0) < 20_000
        assert not [key for key in keys if "{counter:abandoned}" in key]


def agree(hf: Holdfast) -> None:
    """Each coarser sample is the sum of the finer ones, where these are all kept."""
    hits = hf.counter("hits")
    for fine, coarse in ((1, 5), (5, 60), (60, 300), (300, 3600), (3600, 18_000)):
        finer, coarser = hits.samples(fine), hits.samples(coarse)
        for sample in coarser:
            start = sample.start.timestamp()
            parts = [each for each in finer if start <= each.start.timestamp() < start + coarse]
            if len(parts) == coarse // fine:
                assert sum(each.value for each in parts) == sample.value
