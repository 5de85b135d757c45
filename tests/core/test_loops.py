"""The loops that Holdfast makes itself: of uvloop where it is installed, of asyncio elsewhere."""

import asyncio
import secrets
from concurrent.futures import ThreadPoolExecutor

from faults.servers import Server
from faults.waiting import eventually, eventually_grows
from holdfast import Holdfast, TaskRegistry


def test_a_worker_runs_in_the_quickest_loop_there_is(standalone: Server, loops_from: str) -> None:
    tasks = TaskRegistry()
    loops = set()

    @tasks.task(queue="loops")
    async def note(number: int) -> int:
        loops.add(type(asyncio.get_running_loop()).__module__.partition(".")[0])
        await asyncio.sleep(0)
        return number

    with Holdfast.from_url(standalone.url, namespace=f"loops-{secrets.token_hex(4)}") as hf:
        handles = hf.enqueue_many([note.call(number) for number in range(100)])
        hf.worker(tasks).run(until_idle=True)
        assert [handle.result(timeout=30) for handle in handles] == list(range(100))
    assert loops == {loops_from}


def test_a_waiter_is_woken_through_the_private_loop(standalone: Server, loops_from: str) -> None:
    with Holdfast.from_url(standalone.url, namespace=f"loops-{secrets.token_hex(4)}") as hf:
        lease = hf.lock("l", lease=6.0).acquire()
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(hf.lock("l").acquire, timeout=60)
            eventually(lambda: hf.lock("l").inspect().waiters)
            eventually_grows(lambda: lease.remaining, reason="it is renewed")
            lease.release()
            waiting.result(timeout=60).release()
