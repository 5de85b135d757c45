"""A singleton runs in one process; another one takes over if it is killed, paused or stopped."""

import os
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast

LEASE_S = 1.0
SLACK_S = 5.0
"""For a busy machine; the long test has none."""

ROUNDS = 8


def main(url: str, namespace: str, log: str) -> None:
    """Append a line `pid fence time` again and again while this process is the one."""

    def work(lease: object) -> None:
        while not lease.lost:  # type: ignore[attr-defined]
            line = f"{os.getpid()} {lease.fence} {time.monotonic()}\n"  # type: ignore[attr-defined]
            with Path(log).open("a") as file:
                file.write(line)
            time.sleep(0.02)

    with Holdfast.from_url(url, namespace=namespace) as hf:
        hf.singleton("work", lease=LEASE_S).run(work)


def lines(log: Path) -> list[tuple[int, int, float]]:
    """Return pid, fence and time of each line."""
    split = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [(int(pid), int(fence), float(at)) for pid, fence, at in split if at]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ["killed", "paused", "stopped"])
def test_another_process_takes_over(standalone: Server, tmp_path: Path, how: str) -> None:
    log = tmp_path / "log"
    names = (standalone.url, tmp_path.name, log)
    with (
        Process.python("-m", __name__, *names) as one,
        Process.python("-m", __name__, *names) as two,
    ):
        eventually(lambda: len(lines(log)) > 5)
        first, first_fence, _ = lines(log)[0]
        holder = one if one.pid == first else two
        with Holdfast.from_url(standalone.url, namespace=tmp_path.name) as hf:
            eventually(lambda: len(hf.lock("work").inspect().waiters) == 1)
        signals = {"killed": signal.SIGKILL, "paused": signal.SIGSTOP, "stopped": signal.SIGINT}
        os.kill(first, signals[how])
        struck = time.monotonic()
        eventually(lambda: lines(log)[-1][0] != first, 60)
        second, second_fence, began = next(line for line in lines(log) if line[0] != first)
        assert began - struck < LEASE_S + 1 + SLACK_S
        assert second_fence > first_fence
        if how == "paused":
            os.kill(first, signal.SIGCONT)
            time.sleep(0.5)  # at once it knows that it is not the one any more
            late = [at for pid, _, at in lines(log) if pid == first and at > began + 0.1]
            assert len(late) <= 1
        assert {pid for pid, _, at in lines(log) if at > began + 0.7} <= {second}
        assert holder.pid == first


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("how", ["killed", "paused"])
def test_a_takeover_takes_a_lease_and_a_second_at_most(
    standalone: Server, tmp_path: Path, how: str
) -> None:
    """The promise itself, without slack: each holder is struck, and a new process waits."""
    log, took_s = tmp_path / "log", []
    names = (standalone.url, tmp_path.name, log)
    with ExitStack() as running, Holdfast.from_url(standalone.url, namespace=tmp_path.name) as hf:
        for _ in range(2):
            running.enter_context(Process.python("-m", __name__, *names))
        for _ in range(ROUNDS):
            eventually(lambda: len(hf.lock("work").inspect().waiters) >= 1)
            eventually(lambda: lines(log))
            holder = lines(log)[-1][0]
            os.kill(holder, signal.SIGKILL if how == "killed" else signal.SIGSTOP)
            struck = time.monotonic()
            eventually(lambda: lines(log)[-1][0] != holder, 60)  # noqa: B023
            began = next(at for pid, _, at in lines(log) if pid != holder and at > struck)
            took_s.append(began - struck)
            if how == "paused":
                os.kill(holder, signal.SIGKILL)
            running.enter_context(Process.python("-m", __name__, *names))
    print("takeovers:", " ".join(f"{each:.2f}" for each in sorted(took_s)), "s")
    assert max(took_s) < LEASE_S + 1


if __name__ == "__main__":
    main(*sys.argv[1:])
