"""A worker in the main thread, and a signal handler of the program that raises."""

import secrets
import signal
from types import FrameType
from typing import NoReturn

import pytest

from faults.servers import Server
from holdfast import Holdfast, TaskRegistry

tasks = TaskRegistry()


@tasks.task(queue="q")
async def harmless() -> str:
    return "done"


class Alarm(BaseException):
    """What the handler raises."""


@pytest.mark.parametrize("error", [Alarm, TimeoutError, ValueError, KeyboardInterrupt, SystemExit])
def test_what_a_signal_handler_raises_ends_the_worker(
    standalone: Server, error: type[BaseException]
) -> None:
    def raises(_: int, __: FrameType | None) -> NoReturn:
        raise error("of the handler")

    before = signal.signal(signal.SIGALRM, raises)
    try:
        with Holdfast.from_url(standalone.url, namespace=f"n-{secrets.token_hex(4)}") as hf:
            worker = hf.worker(tasks)
            for delay_s in (0.001, 0.05, 0.3):
                signal.setitimer(signal.ITIMER_REAL, delay_s)
                with pytest.raises(error, match="of the handler"):
                    worker.run()
            handle = hf.enqueue(harmless.call())
            worker.run(until_idle=True)
            assert handle.result(timeout=0) == "done"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
