"""A counter buffer in many threads, and in processes that exit, fork or are killed."""

import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast

COUNTS = """
import sys, time
from holdfast import Holdfast
with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]) as hf:
    buffer = hf.counter_buffer(flush_every=0.3)
    added = 0
    while True:
        buffer.add("hits")
        added += 1
        if added % 100 == 0:
            print(added, flush=True)
            time.sleep(0.005)
"""

EXITS = """
import sys
from holdfast import Holdfast
buffer = Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]).counter_buffer(flush_every=3600)
buffer.add("hits", 7)
"""


def test_many_threads_lose_nothing(standalone: Server) -> None:
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        buffer = hf.counter_buffer(flush_every=0.01)

        def add(_: int) -> None:
            for n in range(5000):
                buffer.add(f"hits {n % 7}")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(add, range(8)))
        buffer.close()
        assert sum(hf.counter(f"hits {n}").total(3600) for n in range(7)) == 40_000


def test_a_killed_process_loses_one_interval_at_most(standalone: Server, tmp_path: Path) -> None:
    path, namespace = tmp_path / "counts.py", secrets.token_hex(4)
    path.write_text(COUNTS)
    with (
        Process.python(path, standalone.url, namespace) as process,
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
    ):
        hits = hf.counter("hits")
        eventually(lambda: hits.total(3600) > 0)
        earlier = int(process.output.split()[-1])
        eventually(lambda: hits.total(3600) >= earlier, reason="it flushes again")
        process.kill()
        assert hits.total(3600) >= earlier


def test_the_buffer_flushes_when_the_interpreter_exits(standalone: Server, tmp_path: Path) -> None:
    path, namespace = tmp_path / "exits.py", secrets.token_hex(4)
    path.write_text(EXITS)
    with Process.python(path, standalone.url, namespace) as process:
        assert process.wait(60) == 0
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        assert hf.counter("hits").total(3600) == 7


def test_a_forked_child_starts_with_an_empty_buffer(standalone: Server) -> None:
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        buffer = hf.counter_buffer(flush_every=3600)
        buffer.add("hits", 1)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                buffer.add("hits", 10)
                buffer.flush()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert hf.counter("hits").total(3600) == 10
        buffer.close()
        assert hf.counter("hits").total(3600) == 11
