"""A caller that waits for a result gets it, even if a notification is lost or the server ends."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, OutcomeUnknown, ServerUnavailable, TaskHandle
from holdfast.queues import keys
from holdfast.queues._sync.handle import AWAIT
from queues.faults import chores
from queues.faults.worker_fleet import WorkerFleet

LEASE_S = 2.0
PATIENCE_S = 30.0


def awaited(handle: TaskHandle[Any]) -> Any:
    """Return what `result` returns in the end; repeat it while the server is unreachable."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return handle.result(timeout=PATIENCE_S)
        except (ServerUnavailable, OutcomeUnknown):
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.05)


def is_awaited(fleet: WorkerFleet) -> bool:
    return bool(fleet.raw.exists(keys.awaited(fleet.unit)))


def lose_notifications(fleet: WorkerFleet, proxy: Proxy, server: Server) -> None:
    proxy.drop_pushes(1_000, match=b"notify:")


def cut(fleet: WorkerFleet, proxy: Proxy, server: Server) -> None:
    proxy.cut()


def refuse(fleet: WorkerFleet, proxy: Proxy, server: Server) -> None:
    """Refuse connections for a while."""
    with proxy.refuse():
        time.sleep(1.5)


def restart(fleet: WorkerFleet, proxy: Proxy, server: Server) -> None:
    """Stop the server, and start it again."""
    server.restart()


def kill(fleet: WorkerFleet, proxy: Proxy, server: Server) -> None:
    """Kill the server, and start it again."""
    server.kill()
    time.sleep(0.5)
    server.start()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "trouble",
    [lose_notifications, cut, pytest.param(refuse, marks=pytest.mark.long), restart, kill],
)
def test_a_result_arrives_in_spite_of(
    fresh_server: Server,
    tmp_path: Path,
    trouble: Callable[[WorkerFleet, Proxy, Server], None],
    moment: str,
) -> None:
    """Trouble that comes before the task has ended, or just when it has."""
    gate = tmp_path / "gate"
    with (
        Proxy(fresh_server.address) as proxy,
        WorkerFleet(fresh_server, tmp_path, workers=1, lease=LEASE_S, url=proxy.url) as fleet,
        ThreadPoolExecutor(2) as pool,
    ):
        [handle] = fleet.enqueue(chores.waits_on_the_loop.call("sold", str(gate)))
        try:
            with fleet.client() as other:
                other_handle = other.queue(chores.QUEUE).handle(handle.task_id)
                waiting = [pool.submit(awaited, each) for each in (handle, other_handle)]
                eventually(lambda: is_awaited(fleet) and fleet.runs("sold"))
                if moment == "after":
                    gate.touch()
                trouble(fleet, proxy, fresh_server)
                gate.touch()
                results = [each.result(PATIENCE_S) for each in waiting]
        finally:
            gate.touch()
        ended = [run for run in fleet.runs("sold") if run.outcome == "ok"]
        assert results == [ended[-1].fields["token"]] * 2
        proxy.heal()
        fleet.drained(60)
        fleet.retire()
        fleet.settled()


async def test_hundreds_may_wait_for_one_result(standalone: Server, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    fleet = WorkerFleet(standalone, tmp_path, workers=1, lease=60.0)
    await asyncio.to_thread(fleet.__enter__)
    try:
        async with AsyncHoldfast.from_url(standalone.url, namespace=fleet.namespace) as hf:
            handle = await hf.enqueue(chores.waits_on_the_loop.call("sold", str(gate)))
            waiting = [asyncio.create_task(handle.result(timeout=60)) for _ in range(200)]
            await eventually_async(lambda: is_awaited(fleet))
            await asyncio.sleep(0.5)
            gate.touch()
            results = await asyncio.gather(*waiting)
        [run] = fleet.runs("sold")
        assert results == [run.fields["token"]] * 200
        fleet.drained(60)
        eventually(lambda: not is_awaited(fleet), 70)
    finally:
        await asyncio.to_thread(fleet.__exit__)


@pytest.mark.parametrize("lost", ["drop_reply", "drop_request"])
def test_waiting_for_a_result_changes_nothing_so_a_lost_reply_is_not_reported(
    standalone: Server, proxy: Proxy, tmp_path: Path, lost: str
) -> None:
    """It is asked again; at the least the error can be repeated, as each `OutcomeUnknown` can."""
    gate = tmp_path / "gate"
    with WorkerFleet(standalone, tmp_path, workers=1, lease=LEASE_S, url=proxy.url) as fleet:
        [handle] = fleet.enqueue(chores.waits_on_the_loop.call("sold", str(gate)))
        eventually(lambda: fleet.runs("sold"))
        fault = getattr(proxy, lost)(match=AWAIT.sha1.encode())
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(handle.result, timeout=PATIENCE_S)
            fault.wait(60)
            gate.touch()
            try:
                result = waiting.result(PATIENCE_S)
            except OutcomeUnknown as error:
                result = error.repeat()
        # On a busy machine its lease may end, and it runs again: the result is that of one run.
        assert result in [run.fields["token"] for run in fleet.runs("sold")]
