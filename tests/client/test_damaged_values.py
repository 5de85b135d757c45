"""Values damaged by other programs: each operation answers or raises an error of Holdfast, in time.

Nothing hangs, nothing takes gigabytes, and no script keeps the server from others.
"""

import asyncio
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest
import redis

from client._async import operations as of_async
from client._sync import operations as of_sync
from client.hostile import Damage, damages
from client.units import BUILDERS, Place
from faults.halves import HALVES
from faults.servers import Server
from holdfast import Holdfast, HoldfastError, OutcomeUnknown
from holdfast.locks import keys

BLOCKS: Final = tuple(BUILDERS)
"""Kinds of units that are tested."""

BOUND_S: Final = 20.0
"""For one operation. A generous bound: the machine may be busy."""

BUSY_MS: Final = 1000
"""After so long a script keeps everybody else waiting."""

MOST_BYTES: Final = 4 << 30
"""Of address space, beyond what this process has now."""

NAMESPACE: Final = "damaged"
AGAIN: Final = "again"
"""The `op_id` of writes with damaged entries in the ledger."""

SAMPLED: Final = 401
"""Without the mark `long`, one of so many damages is tried."""

ALWAYS: Final = ("definition = 4294967297", "limit] = 1e400", "limit = -1", "ledger:0: a list")
"""How those end that are always tried."""


AUDITED: Final = 50
"""An audit takes its time: it looks at one of so many damages."""


class Hung(BaseException):
    """An operation did not end in time."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("--busy-reply-threshold", str(BUSY_MS)) as server:
        yield server


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    """Limit the memory of this process: a damaged number must not make it allocate more."""
    if sys.platform != "linux":  # elsewhere the limit has no effect
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


class StoredBlock:
    def __init__(self, server: Server, kind: str, folder: Path) -> None:
        self.server, self.kind, self.folder = server, kind, folder
        self.admin = server.client()
        self.admin.flushall()
        with Holdfast.from_url(server.url, namespace=NAMESPACE) as hf, ExitStack() as held:
            BUILDERS[kind](Place(hf, folder, held), of_sync.NAME)
            if kind in {"lock", "semaphore"}:
                _queue_waiters(self.admin, getattr(hf, kind)(of_sync.NAME, lease=3600.0), held)
            self._kept = self._dumped()
        self._entries: dict[bytes, dict[bytes, bytes]] = {}
        for operation in operations_of("sync")[kind]:
            self._restore()
            run("sync", server, kind, operation, folder, AGAIN)
            self._note_entries()
        self._restore()

    def keys(self) -> list[bytes]:
        """Return its keys, and those of the catalog."""
        return sorted({*self._kept, *self._entries})

    def damages(self) -> Iterator[tuple[bytes, Damage]]:
        """Yield every damage to each of its keys."""
        for key in self.keys():
            self._restore()
            for damage in list(damages(self.admin, key)):
                yield key, damage

    def apply(self, damage: Damage) -> None:
        """Put everything back, then do the *damage*."""
        self._restore()
        damage.do(self.admin)

    def _restore(self) -> None:
        pipe = self.admin.pipeline(transaction=False)
        pipe.flushdb()
        for key, (dumped, left_ms) in self._kept.items():
            pipe.restore(key, max(left_ms, 0), dumped)
        for key, entries in self._entries.items():
            pipe.hset(key, mapping=entries)
        pipe.execute()

    def _dumped(self) -> dict[bytes, tuple[bytes, int]]:
        keys = list(self.admin.scan_iter("*"))
        return {
            key: (self.admin.dump(key), self.admin.pttl(key))
            for key in keys
            if b":ledger:" not in key
        }

    def _note_entries(self) -> None:
        for key in self.admin.scan_iter("*:ledger:*"):
            entries = {
                field: value
                for field, value in self.admin.hgetall(key).items()
                if AGAIN.encode() in field
            }
            self._entries.setdefault(key, {}).update(entries)
        self._entries = {key: entries for key, entries in self._entries.items() if entries}

    def revive(self) -> str:
        """Return what is wrong with the server; empty: nothing. It must answer afterwards."""
        try:
            self.admin.ping()
        except redis.exceptions.ResponseError as error:
            self.server.kill()
            self.server.start()
            self.admin = self.server.client()
            return str(error)
        return ""


def _queue_waiters(admin: redis.Redis, lock: Any, held: ExitStack) -> None:
    """Let others hold and wait as well: they have keys of their own."""
    while (lease := lock.try_acquire()) is not None:
        held.callback(lease.release)
    unit = lock._permits.unit
    admin.zadd(keys.holders(unit), {"?silent:1": 2e12})
    admin.zadd(keys.wait_queue(unit), {"other:1 nowhere": 1})


def operations_of(half: str) -> Any:
    """Return the operations of a half, by kind."""
    return (of_sync if half == "sync" else of_async).OPERATIONS


def run(
    half: str, server: Server, kind: str, operation: str, folder: Path, op_id: str | None
) -> str:
    """Run one operation with a client of its own; what is wrong with its end, empty: nothing."""
    do = operations_of(half)[kind][operation]
    try:
        with within(BOUND_S):
            if half == "sync":
                with HALVES[half].from_url(server.url, namespace=NAMESPACE) as hf:
                    do(hf, folder, op_id)
            else:
                asyncio.run(_awaited(do, server, folder, op_id))
    except OutcomeUnknown as error:
        return f"OutcomeUnknown: {error}"
    except HoldfastError:
        return ""
    except (Exception, Hung) as error:  # noqa: BLE001 (that is what is looked for)
        return f"{type(error).__name__}: {error}"
    return ""


async def _awaited(do: Any, server: Server, folder: Path, op_id: str | None) -> None:
    async with HALVES["async"].from_url(server.url, namespace=NAMESPACE) as hf:
        await do(hf, folder, op_id)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise `Hung` in the block when it takes longer than so many *seconds*."""

    def raise_hung(number: int, frame: FrameType | None) -> None:
        raise Hung(f"not over within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, raise_hung)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize(
    "sampled", [pytest.param(SAMPLED, id="some"), pytest.param(1, id="all", marks=pytest.mark.long)]
)
def test_a_damaged_value_is_an_error_of_ours(
    server: Server, tmp_path: Path, kind: str, half: str, sampled: int
) -> None:
    block = StoredBlock(server, kind, tmp_path)
    problems = []
    for number, (key, damage) in enumerate(block.damages()):
        if (number + len(half)) % sampled and not damage.what.endswith(ALWAYS):
            continue
        op_id = AGAIN if b":ledger:" in key else None
        for operation in operations_of(half)[kind]:
            if operation == "audit" and number % AUDITED:
                continue
            block.apply(damage)
            wrong = run(half, server, kind, operation, tmp_path, op_id) + block.revive()
            if wrong:
                problems.append(f"{operation} with {damage.what}: {wrong}")
    assert problems == []
