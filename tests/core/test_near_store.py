"""The memory of near caches: its bound, and what it keeps."""

import gc
import random
import threading
import tracemalloc

import pytest

from core.interpreter_lock import needs_gil
from holdfast.core.near.guard import Guard
from holdfast.core.near.store import ENTRY_BYTES, Entry, NearStore

GUARD = Guard(("localhost", 6379))


def entry(key: object, size: int = 1000) -> Entry:
    return Entry(str(key), key, 0.0, GUARD, size)


def add(store: NearStore, key: object, size: int = 1000) -> None:
    assert store.add(entry(key, size))


def use(store: NearStore, key: object, times: int = 1) -> bool:
    found = store.find(str(key))
    if found is not None:
        found.uses = min(found.uses + times, 3)
    return found is not None


def test_values_are_found_replaced_and_removed() -> None:
    store = NearStore(100_000)
    add(store, "a", 10)
    add(store, "b", 20)
    assert store.find("a").value == "a"  # type: ignore[union-attr]
    assert (len(store), store.bytes) == (2, 30)
    add(store, "a", 50)
    assert (len(store), store.bytes) == (2, 70)
    assert store.remove("a")
    assert not store.remove("a")
    assert store.find("a") is None
    assert (len(store), store.bytes) == (1, 20)
    store.clear()
    assert (len(store), store.bytes) == (0, 0)


def test_a_value_that_is_too_large_is_not_kept_and_replaces_the_old_one() -> None:
    store = NearStore(8_000)
    add(store, "a", 1000)
    assert not store.add(entry("a", 1001))
    assert store.find("a") is None
    assert store.bytes == 0


def test_the_bytes_are_bounded() -> None:
    store, dice = NearStore(100_000), random.Random(1)
    for n in range(5000):
        key = dice.randrange(500)
        if not use(store, key):
            add(store, key, dice.randrange(1, 10_000))
        if n % 7 == 0:
            store.remove(str(dice.randrange(500)))
        assert store.bytes <= 100_000
    held = sum(found.size for n in range(500) if (found := store.find(str(n))))
    assert store.bytes == held
    store.resize(10_000)
    assert 0 < store.bytes <= 10_000


def test_a_scan_does_not_displace_what_is_used() -> None:
    store = NearStore(100_000)
    for n in range(50):
        add(store, n)
    for _ in range(3):
        for n in range(50):
            use(store, n)
    for n in range(10_000):
        add(store, f"scan {n}")
    assert sum(use(store, n) for n in range(50)) == 50
    assert store.evicted > 9_000


def test_what_is_not_used_any_more_goes() -> None:
    store = NearStore(100_000)
    for n in range(90):
        add(store, n)
        use(store, n, 3)
    for round_ in range(8):
        for n in range(90):
            add(store, f"{round_} {n}")
            use(store, f"{round_} {n}", 3)
    assert sum(use(store, n) for n in range(90)) == 0


def test_a_key_that_returns_soon_after_its_eviction_stays() -> None:
    store = NearStore(100_000)
    for n in range(150):
        add(store, n)
    assert store.find("100") is not None
    evicted = next(n for n in range(140, 0, -1) if store.find(str(n)) is None)
    add(store, evicted)
    for n in range(200, 250):
        add(store, n)
    assert store.find(str(evicted)) is not None


def test_its_hit_rate_beats_lru_on_skewed_reads_with_scans() -> None:
    """The reason for S3-FIFO, on a trace of its kind."""
    dice = random.Random(7)
    trace: list[int] = []
    for n in range(40_000):
        trace.append(int(dice.paretovariate(1.0)) % 5_000)
        if n % 2:
            trace.append(10_000 + n)  # never again
    store, hits = NearStore(200_000), 0
    lru: dict[int, None] = {}
    lru_hits = 0
    for key in trace:
        if use(store, key):
            hits += 1
        else:
            add(store, key)
        if key in lru:
            lru_hits += 1
            del lru[key]
        elif len(lru) == 200:
            del lru[next(iter(lru))]
        lru[key] = None
    assert hits > lru_hits


@needs_gil  # Objects are larger.
@pytest.mark.parametrize("size", [10, 1000])
def test_the_bytes_are_those_that_python_uses(size: int) -> None:
    store = NearStore(1_000_000)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    n = 0
    while not store.evicted or n < 4_000:
        key = f"a key of usual length {n}"
        value = n.to_bytes(4) * (size // 4)
        store.add(Entry(key, (value, n), n + 0.5, GUARD, len(value) + len(key) + ENTRY_BYTES))
        n += 1
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    print(f"{used / store.bytes:.2f} of the estimate, {used / len(store):.0f} bytes for each")
    assert 0.5 * store.bytes < used < 1.1 * store.bytes


def test_threads() -> None:
    store, lock = NearStore(50_000), threading.Lock()
    problems: list[BaseException] = []

    def work(seed: int) -> None:
        dice = random.Random(seed)
        try:
            for _ in range(3000):
                key = str(dice.randrange(200))
                found = store.find(key)
                if found is None:
                    with lock:
                        store.add(entry(key, dice.randrange(1, 5000)))
                else:
                    assert found.value == key
                    if dice.random() < 0.1:
                        with lock:
                            store.remove(key)
        except BaseException as error:  # noqa: BLE001 (shown below)
            problems.append(error)

    threads = [threading.Thread(target=work, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert store.bytes <= 50_000
