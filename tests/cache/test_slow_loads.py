"""A function that takes longer than its lease is called once, unless it hangs or is killed."""

import secrets
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from conftest import Site
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast
from holdfast.cache import load_renewal

LEASE_S = 1.0


class Calls:
    """Two clients with the same function, which takes a while."""

    def __init__(self, one: Holdfast, other: Holdfast, seconds: float) -> None:
        self.begun: list[float] = []
        self.ended: list[float] = []
        self.go_on = threading.Event()

        def function() -> str:
            self.begun.append(time.monotonic())
            number = len(self.begun)
            if number == 1:
                self.go_on.wait(seconds)
            self.ended.append(time.monotonic())
            return f"value {number}"

        options = {"ttl": 60.0, "name": "slow", "lease": LEASE_S, "timeout": 40.0}
        self.one = one.cached(**options)(function)
        self.other = other.cached(**options)(function)


@contextmanager
def slow_calls(site: Site, seconds: float) -> Iterator[tuple[Calls, ThreadPoolExecutor]]:
    with (
        Holdfast.from_url(site.url, namespace=site.namespace) as one,
        Holdfast.from_url(site.url, namespace=site.namespace) as other,
        ThreadPoolExecutor(4) as pool,
    ):
        yield Calls(one, other, seconds), pool


def test_a_slow_function_is_called_once(site: Site) -> None:
    with slow_calls(site, 3 * LEASE_S) as (calls, pool):
        first = pool.submit(calls.one)
        eventually(lambda: calls.begun)
        waiting = pool.submit(calls.other)
        time.sleep(1.5 * LEASE_S)
        late = pool.submit(calls.other)
        assert {each.result(60) for each in (first, waiting, late)} == {"value 1"}
        assert len(calls.begun) == 1
        assert calls.other() == "value 1"


def test_a_renewed_lease_does_not_outlive_an_invalidation(site: Site) -> None:
    with slow_calls(site, 2.5 * LEASE_S) as (calls, pool):
        first = pool.submit(calls.one)
        eventually(lambda: calls.begun)
        time.sleep(1.2 * LEASE_S)
        calls.other.invalidate()
        assert calls.other() == "value 2"  # at once
        assert not calls.ended[1:]
        assert first.result(60) == "value 1"
        assert calls.other() == "value 2"


def test_a_function_that_hangs_is_called_by_another_client(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_renewal, "MAX_LEASES", 2)
    with slow_calls(site, 60.0) as (calls, pool):
        first = pool.submit(calls.one)
        eventually(lambda: calls.begun)
        assert calls.other() == "value 2"
        assert len(calls.ended) == 1
        assert calls.begun[1] - calls.begun[0] > 1.9 * LEASE_S
        calls.go_on.set()
        assert first.result(60) == "value 1"
        assert calls.other() == "value 2"


def test_a_killed_process_is_replaced_when_its_last_renewal_ends(standalone: Server) -> None:
    namespace = secrets.token_hex(4)
    with (
        Process.python("-m", __name__, standalone.url, namespace) as process,
        Holdfast.from_url(standalone.url, namespace=namespace) as hf,
        ThreadPoolExecutor(1) as pool,
    ):
        eventually(lambda: "begun" in process.output)
        time.sleep(2.5 * LEASE_S)  # it would have ended without renewals
        calls = Calls(hf, hf, 0.0)
        waiting = pool.submit(calls.one)
        time.sleep(1.5 * LEASE_S)
        assert not calls.begun
        process.kill()
        assert waiting.result(60) == "value 1"


def main(url: str, namespace: str) -> None:
    def function() -> str:
        print("begun", flush=True)
        time.sleep(600)
        return "never"

    with Holdfast.from_url(url, namespace=namespace) as hf:
        hf.cached(ttl=60.0, name="slow", lease=LEASE_S)(function)()


if __name__ == "__main__":
    main(*sys.argv[1:])
