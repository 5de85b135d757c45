"""Readers and writers of a lock take turns: no stream of one keeps the other out."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from conftest import Site
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast
from holdfast.core.names import Namespace
from holdfast.locks import keys
from holdfast.locks.permit_scripts import RW_ACQUIRE, RW_RELEASE

LEASE_MS = 600_000


class Queue:
    """Readers and writers that come one after the other, and what they do in which order."""

    def __init__(self, hf: AsyncHoldfast) -> None:
        self.lock = hf.rw_lock("l", lease=60.0)
        self.entered: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, name: str) -> None:
        """Let one come that reads (`r…`) or writes (`w…`); return when it waits or has entered."""
        before = self._seen(await self.lock.inspect())
        self.gates[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._hold(name))

        async def is_there() -> bool:
            return self._seen(await self.lock.inspect()) > before

        await eventually_async(is_there)

    async def go(self, *names: str) -> None:
        """Let some leave that have entered."""
        for name in names:
            self.gates[name].set()
        await asyncio.gather(*(self.tasks[name] for name in names))

    async def _hold(self, name: str) -> None:
        async with self.lock.read() if name[0] == "r" else self.lock.write():
            self.entered.append(name)
            await self.gates[name].wait()

    @staticmethod
    def _seen(state: Any) -> int:
        holders = len(state.readers) + (state.writer is not None)
        return holders + len(state.waiting_readers) + len(state.waiting_writers)


async def entered(queue: Queue, *names: str) -> None:
    """Wait until just these have entered, in any order, and forget them."""

    async def done() -> bool:
        return len(queue.entered) >= len(names)

    await eventually_async(done)
    assert sorted(queue.entered) == sorted(names)
    queue.entered.clear()


async def test_all_readers_that_wait_enter_between_two_writers(hf: AsyncHoldfast) -> None:
    queue = Queue(hf)
    for name in ("w0", "r1", "w1", "r2", "w2", "r3"):
        await queue.come(name)
    await entered(queue, "w0")
    await queue.go("w0")
    await entered(queue, "r1", "r2", "r3")
    await queue.come("r4")  # waits: a writer is next
    await queue.go("r1", "r3", "r2")
    await entered(queue, "w1")
    await queue.go("w1")
    await entered(queue, "r4")
    await queue.go("r4")
    await entered(queue, "w2")
    await queue.go("w2")


async def test_a_reader_does_not_pass_a_writer_that_waits(hf: AsyncHoldfast) -> None:
    queue = Queue(hf)
    await queue.come("r0")
    await queue.come("w0")
    assert await queue.lock.try_read() is None
    await queue.come("r1")
    state = await queue.lock.inspect()
    assert (len(state.waiting_writers), len(state.waiting_readers)) == (1, 1)
    await entered(queue, "r0")
    await queue.go("r0")
    await entered(queue, "w0")
    await queue.go("w0")
    await entered(queue, "r1")
    await queue.go("r1")


async def test_a_writer_that_gives_up_lets_the_readers_in(hf: AsyncHoldfast) -> None:
    queue = Queue(hf)
    for name in ("r0", "w0", "r1"):
        await queue.come(name)
    queue.tasks["w0"].cancel()
    await entered(queue, "r0", "r1")
    await queue.go("r0", "r1")


async def test_hundreds_of_readers_enter_before_the_next_writer(hf: AsyncHoldfast) -> None:
    """More than one call can let in."""
    queue = Queue(hf)
    await queue.come("w0")
    readers = [f"r{n}" for n in range(200)]
    for name in readers:
        queue.gates[name] = asyncio.Event()
        queue.tasks[name] = asyncio.create_task(queue._hold(name))

    async def all_wait() -> bool:
        return len((await queue.lock.inspect()).waiting_readers) == len(readers)

    await eventually_async(all_wait)
    await queue.come("w1")
    await entered(queue, "w0")
    await queue.go("w0")
    await entered(queue, *readers)
    await queue.go(*readers)
    await entered(queue, "w1")
    await queue.go("w1")


@pytest.mark.parametrize("stream", ["readers", "writers"])
async def test_a_stream_of_one_mode_starves_no_waiter(site: Site, stream: str) -> None:
    async with (
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as many,
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf,
    ):
        over = asyncio.Event()
        crowded, lock = many.rw_lock("l"), hf.rw_lock("l")

        async def keep_coming() -> None:
            while not over.is_set():
                async with crowded.read() if stream == "readers" else crowded.write():
                    await asyncio.sleep(0.005)

        clients = [asyncio.create_task(keep_coming()) for _ in range(8)]
        for _ in range(20):
            async with lock.write(timeout=30) if stream == "readers" else lock.read(timeout=30):
                pass
        over.set()
        await asyncio.gather(*clients)


class Phases(RuleBasedStateMachine):
    """Compares the scripts with a model in which all waiters are alive."""

    call: Callable[..., Any]

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.holders: list[str] = []
        self.queues: dict[str, list[str]] = {"r": [], "w": []}
        self.last_mode = "w"
        self.tickets: dict[str, str] = {}
        self.reset()

    def reset(self) -> None:
        raise NotImplementedError

    @rule(mode=st.sampled_from("rw"))
    def come(self, mode: str) -> None:
        self.number += 1
        name = f"host:1:ab.{mode}{self.number}"
        is_open = not self.holders or mode == self.mode == "r"
        reply = self.call(RW_ACQUIRE, name, LEASE_MS, 1, "channel", "0")
        if is_open and not self.queues["r"] and not self.queues["w"]:
            assert reply[0] == b"granted"
            self.holders.append(name)
            self.last_mode = mode
        else:
            assert reply[0] == b"queued"
            self.tickets[name] = reply[2].decode()
            self.queues[mode].append(name)
            assert self.confirmed(reply[1]) == self.let_in() == []

    @precondition(lambda self: self.holders)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.holders))
        self.holders.remove(name)
        self.same_enter(self.call(RW_RELEASE, name, 0, "channel", ""))

    @precondition(lambda self: self.queues["r"] or self.queues["w"])
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.queues["r"] + self.queues["w"]))
        self.queues[name.rpartition(".")[2][0]].remove(name)
        waiter = f"{name} channel"
        self.same_enter(self.call(RW_RELEASE, name, 1, "channel", waiter))

    @invariant()
    def no_worker_is_forgotten(self) -> None:
        assert self.holders or not (self.queues["r"] or self.queues["w"])

    @property
    def mode(self) -> str:
        """Return the mode of the holders; empty if there is none."""
        return self.holders[0].rpartition(".")[2][0] if self.holders else ""

    def same_enter(self, reply: Any) -> None:
        assert self.confirmed(reply[1]) == sorted(self.let_in())

    def let_in(self) -> list[str]:
        """Return who enters by the rules."""
        readers, writers = self.queues["r"], self.queues["w"]
        if self.mode == "w" or (self.mode == "r" and writers):
            return []
        readers_turn = readers and (not writers or self.last_mode == "w")
        entering = readers[:] if readers_turn else writers[:1]
        for name in entering:
            self.last_mode = name.rpartition(".")[2][0]
            self.queues[self.last_mode].remove(name)
            self.holders.append(name)
        return entering

    def confirmed(self, messages: list[bytes]) -> list[str]:
        """Confirm all grants of a reply; return the names that got them."""
        granted = sorted(each.split()[0].decode() for each in messages if each.split()[1] != b"0")
        for name in granted:
            reply = self.call(RW_ACQUIRE, name, LEASE_MS, 1, "channel", self.tickets[name])
            assert reply[0] == b"granted"
        return granted


def test_the_scripts_follow_the_rules(standalone: Server) -> None:
    with standalone.client() as client:

        class OnServer(Phases):
            def reset(self) -> None:
                unit = Namespace.of("phases").unit(keys.RW_LOCK, "l")
                for key in client.scan_iter("phases:*"):
                    client.delete(key)

                def call(script: Any, *args: Any) -> Any:
                    names = script.keys(unit)
                    return client.eval(script.source, len(names), *names, *args)

                self.call = call

        case = OnServer.TestCase
        case.settings = settings(max_examples=20, stateful_step_count=40, deadline=None)
        case().runTest()
