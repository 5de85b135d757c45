"""Processes obey, and the nemesis repeats itself."""

import signal
import subprocess
import time

import pytest

from faults.nemesis import Nemesis, kill, pause, restart
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually, eventually_async

TICKER = "import time\nwhile True: print('tick'); time.sleep(0.01)"


@pytest.fixture
def ticker() -> Process:
    """Return a process that prints all the time; it is not started."""
    return Process.python("-c", TICKER, name="ticker")


def test_a_process_runs_to_its_end_and_its_output_is_kept() -> None:
    with Process.python("-c", "import sys; print('out'); sys.exit('err')") as process:
        assert process.wait() == 1
        assert process.output == "out\nerr\n"
    assert process.report() == "out\nerr"


def test_a_process_is_killed_and_started_again(ticker: Process) -> None:
    with ticker:
        ticker.wait_for_output("tick")
        ticker.kill()
        assert not ticker.is_running
        assert ticker.returncode == -signal.SIGKILL
        before = ticker.output
        ticker.start()
        eventually(lambda: len(ticker.output) > len(before))
    assert not ticker.is_running


def test_a_paused_process_does_nothing_until_it_is_resumed(ticker: Process) -> None:
    with ticker:
        ticker.wait_for_output("tick")
        ticker.pause()
        eventually(lambda: state_of(ticker).startswith("T"))
        before = ticker.output
        time.sleep(0.05)
        assert ticker.output == before
        assert ticker.is_running
        ticker.resume()
        eventually(lambda: len(ticker.output) > len(before))


def state_of(process: Process) -> str:
    asked = ["ps", "-o", "stat=", "-p", str(process.pid)]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def test_a_paused_process_can_be_stopped(ticker: Process) -> None:
    with ticker:
        ticker.wait_for_output("tick")
        ticker.pause()
        assert ticker.stop() == -signal.SIGTERM


def test_waiting_for_output_ends_with_the_process() -> None:
    with (
        Process.python("-c", "print('other')", name="short") as process,
        pytest.raises(AssertionError, match=r"short ended without printing 'this':\nother"),
    ):
        process.wait_for_output("this")


def test_waiting_for_a_process_is_bounded(ticker: Process) -> None:
    with ticker, pytest.raises(AssertionError, match=r"ticker still runs after 0\.01 s"):
        ticker.wait(0.01)


def test_a_nemesis_leaves_its_victims_running(ticker: Process, fresh_server: Server) -> None:
    fresh_server.client().set("kept", "1")
    with (
        ticker,
        Nemesis(7, [ticker, fresh_server], every=(0.0, 0.02), lasting=(0.0, 0.02)) as nemesis,
    ):
        eventually(lambda: len(nemesis.log) >= 12)
    assert {strike.action for strike in nemesis.log} == {"kill", "pause", "restart"}
    assert "kill ticker for" in nemesis.report()
    assert fresh_server.client().get("kept") == b"1"


def test_a_seed_repeats_the_schedule(seed: int) -> None:
    def strikes() -> list[tuple[str, str, float]]:
        with (
            Process("sleep", "60", name="one") as one,
            Process("sleep", "60", name="two") as two,
            Nemesis(seed, [one, two], every=(0.0, 0.01), lasting=(0.0, 0.01)) as nemesis,
        ):
            eventually(lambda: len(nemesis.log) >= 8)
        return [(done.action, done.victim, done.seconds) for done in nemesis.log[:8]]

    assert strikes() == strikes()


def test_only_the_chosen_actions_are_taken(ticker: Process) -> None:
    def shout(victim: object, seconds: float) -> None:
        shouted.append(victim)

    shouted: list[object] = []
    with ticker, Nemesis(1, [ticker], actions=[shout], every=(0.0, 0.0)) as nemesis:
        eventually(lambda: len(shouted) >= 3)
    assert {strike.action for strike in nemesis.log} == {"shout"}


def test_the_failure_of_a_strike_is_not_lost(ticker: Process) -> None:
    def fumble(victim: object, seconds: float) -> None:
        raise RuntimeError("missed")

    with ticker:
        nemesis = Nemesis(1, [ticker], actions=[kill, pause, restart, fumble], every=(0.0, 0.0))
        nemesis.start()
        eventually(lambda: not nemesis.is_running)
        with pytest.raises(RuntimeError, match="missed"):
            nemesis.stop()


def test_what_never_happens_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"still not after 0\.02 s: pigs fly \(last.*: 0\)"):
        eventually(lambda: 0, 0.02, reason="pigs fly")


async def test_waiting_for_what_is_awaited() -> None:
    async def answer() -> int:
        return 42

    answered: int = await eventually_async(answer)
    assert answered == 42
    assert await eventually_async(lambda: "yes") == "yes"
    with pytest.raises(AssertionError, match="still not after"):
        await eventually_async(lambda: False, 0.02)
