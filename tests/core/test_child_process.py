"""Child processes of a worker end in time, also when the machine is busy."""

import asyncio
import signal
import time
from pathlib import Path

import pytest

from holdfast.core.concurrency.child_process import ChildProcess


async def test_a_busy_loop_gives_a_child_no_longer_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its patience is in seconds: this loop polls only every 0.1 s."""
    (tmp_path / "sleeper.py").write_text("import time\ndef main(_):\n    time.sleep(600)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    child = ChildProcess("sleeper")

    async def block() -> None:
        while child.code is None:
            time.sleep(0.1)  # noqa: ASYNC251 (a task that blocks the loop)
            await asyncio.sleep(0)

    blocked = asyncio.create_task(block())
    try:
        async with asyncio.timeout(15):  # 2 s in polls of 10 ms would be 20 s
            assert await child.ended(2.0) == -signal.SIGKILL
    finally:
        child.kill()
        await blocked
