"""`holdfast locks run`: a command runs while the lock is held, and no longer."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.filled_queue import Run
from cli.programs import CTRL_C, on_terminal
from conftest import Site
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, server

LEASE_S = 4.0
"""Renewed after a third of it, so a process that is stopped for two seconds still has it."""

SLACK_S = 50.0
"""What a busy machine may add."""

START_S = 60.0
"""Patience with programs that start on a busy machine."""

Begin = Callable[..., Process]


@pytest.fixture
def begin(home: Site) -> Iterator[Begin]:
    """Start `holdfast locks run …` on lock `nightly`, unless another one is named."""
    begun = []

    def start(*args: str | Path, name: str = "nightly", url: str = home.url) -> Process:
        env = {"HOLDFAST_URL": url, "HOLDFAST_NAMESPACE": home.namespace}
        process = Process.python("-m", "holdfast", "locks", "run", name, *args, env=env)
        begun.append(process)
        process.start()
        return process

    yield start
    for process in begun:
        process.close()


def shell(script: str, *args: str | Path) -> tuple[str | Path, ...]:
    """Return a command that runs *script* with *args* as `$1` and so on."""
    return ("--", "sh", "-c", script, "sh", *args)


def is_held(hf: Holdfast) -> bool:
    return hf.lock("nightly").inspect().holder is not None


def is_running(pid_file: Path) -> bool:
    """Return whether the process with the id in this file exists."""
    try:
        os.kill(int(pid_file.read_text()), 0)
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return False
    stat = Path(f"/proc/{pid_file.read_text().strip()}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def until_guarded(run: Process) -> None:
    """Wait until *run* waits for its command; the guard knows the command by then.

    Only Linux shows what a process waits for, and not in every container.
    """
    waits_for = Path(f"/proc/{run.pid}/wchan")
    with contextlib.suppress(AssertionError, OSError):
        eventually(lambda: waits_for.read_text() == "do_wait", 10.0)


def test_the_command_has_the_lock_and_its_fence(hf: Holdfast, begin: Begin) -> None:
    """Pass its output and exit code on; the lock is free afterwards."""
    with hf.lock("nightly").hold() as earlier:
        pass
    run = begin(*shell("echo fence=$HOLDFAST_FENCE; exit 7"))
    assert run.wait(START_S) == 7
    [line] = run.output.splitlines()
    assert int(line.removeprefix("fence=")) > earlier.fence
    assert not is_held(hf)


def test_several_runs_exclude_one_another(begin: Begin, tmp_path: Path) -> None:
    """Run each command alone."""
    script = 'mkdir "$1/alone" && sleep 0.3 && rmdir "$1/alone"'
    runs = [begin(*shell(script, tmp_path)) for _ in range(4)]
    assert [(run.wait(START_S), run.output) for run in runs] == [(0, "")] * 4


def test_the_lease_is_renewed_as_long_as_the_command_runs(
    hf: Holdfast, begin: Begin, tmp_path: Path
) -> None:
    """Give the lock to no other client meanwhile."""
    lasts: list[float] = []

    def is_renewed() -> bool:
        lasts.append(hf.lock("nightly").inspect().remaining or 0.0)
        return lasts[-1] > min(lasts)

    script = 'while ! test -e "$1"; do sleep 0.1; done; echo over'
    run = begin("--lease", str(LEASE_S), *shell(script, tmp_path / "renewed"))
    eventually(lambda: is_held(hf), START_S)
    eventually(is_renewed)
    (tmp_path / "renewed").touch()
    with hf.lock("nightly").hold(timeout=START_S):
        assert "over" in run.output
    assert run.wait() == 0


def test_permits_of_a_semaphore(hf: Holdfast, begin: Begin, run: Run) -> None:
    """Run as many as the limit at once; the limit is given once."""
    options = ("--semaphore", "--limit", "2")
    unknown = run("locks", "run", "api", "--semaphore", "--", "true")
    assert (unknown.exit_code, "with --limit N" in unknown.stderr) == (125, True)
    first = begin(*options, *shell("sleep 600"), name="api")
    eventually(lambda: len(hf.semaphore("api").inspect().holders) == 1, START_S)
    second = begin("--semaphore", *shell("sleep 600"), name="api")
    eventually(lambda: len(hf.semaphore("api").inspect().holders) == 2, START_S)
    third = run("locks", "run", "api", "--semaphore", "--timeout", "0.1", "--", "true")
    assert third.exit_code == 124
    other = run("locks", "run", "api", "--semaphore", "--limit", "3", "--", "true")
    assert (other.exit_code, "is 2, not 3" in other.stderr) == (125, True)
    for each in (first, second):
        assert each.stop() == 128 + signal.SIGTERM
    assert hf.semaphore("api").inspect().holders == ()


def test_a_lock_that_is_not_free_in_time(hf: Holdfast, run: Run, tmp_path: Path) -> None:
    """Do not run the command; name the holder; leave no waiter."""
    with hf.lock("nightly").hold() as lease:
        for timeout in ("0", "0.3"):
            command = ("--timeout", timeout, "--", "touch", str(tmp_path / "ran"))
            late = run("locks", "run", "nightly", *command)
            assert (late.exit_code, f"{lease.holder} holds it" in late.stderr) == (124, True)
        assert hf.lock("nightly").inspect().waiters == ()
    assert not (tmp_path / "ran").exists()


def test_what_cannot_be_run(hf: Holdfast, run: Run, tmp_path: Path) -> None:
    """Fail before waiting, as a shell does; a damaged program fails when it is started."""
    (tmp_path / "text").write_text("x")
    (tmp_path / "garbage").write_bytes(b"\x7fELF")
    (tmp_path / "garbage").chmod(0o755)
    with hf.lock("nightly").hold():
        missing = run("locks", "run", "nightly", "--", "nosuchcommand")
        text = run("locks", "run", "nightly", "--", str(tmp_path / "text"))
    assert (missing.exit_code, text.exit_code) == (127, 126)
    assert "there is no command 'nosuchcommand'" in missing.stderr
    garbage = run("locks", "run", "nightly", "--", str(tmp_path / "garbage"))
    assert (garbage.exit_code, "cannot be run" in garbage.stderr) == (126, True)
    assert not is_held(hf)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--limit", "2", "--", "true"], 2),
        (["--lease", "0.5", "--", "true"], 2),
        (["--lease", "nan", "--", "true"], 2),
        ([], 2),
        (["--url", "redis://127.0.0.1:1", "--", "true"], 125),
    ],
)
def test_wrong_usage_and_no_server(run: Run, args: list[str], code: int) -> None:
    """Exit with different codes."""
    assert run("locks", "run", "nightly", *args).exit_code == code


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_go_to_the_command(hf: Holdfast, begin: Begin, number: signal.Signals) -> None:
    """Pass them to its processes too; it decides how and when it ends."""
    name = number.name.removeprefix("SIG")
    script = f"trap 'echo heard; exit 9' {name}; echo ready; while :; do sleep 0.1; done"
    run = begin(*shell(script))
    run.wait_for_output("ready", START_S)
    os.kill(run.pid, number)
    assert (run.wait(), run.output.splitlines()[-1]) == (9, "heard")
    assert not is_held(hf)


def test_a_command_that_is_killed(hf: Holdfast, begin: Begin) -> None:
    """Exit as a shell does, with 128 and the signal."""
    run = begin(*shell("kill -KILL $$"))
    assert run.wait(START_S) == 128 + signal.SIGKILL
    run = begin(*shell("echo ready; exec sleep 600"))
    run.wait_for_output("ready", START_S)
    os.kill(run.pid, signal.SIGINT)
    assert run.wait() == 128 + signal.SIGINT
    assert not is_held(hf)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait(hf: Holdfast, begin: Begin, number: signal.Signals) -> None:
    """Leave the wait queue, and never run the command."""
    lock = hf.lock("nightly")
    with lock.hold():
        run = begin(*shell("echo ran"))
        eventually(lambda: lock.inspect().waiters, START_S)
        os.kill(run.pid, number)
        assert (run.wait(), run.output) == (128 + number, "")
        assert lock.inspect().waiters == ()


def test_a_lost_lease_ends_the_command(hf: Holdfast, begin: Begin, standalone: Server) -> None:
    """Delete the lock on the server: the next renewal finds that out."""
    run = begin("--lease", str(LEASE_S), *shell("echo ready; exec sleep 600"))
    run.wait_for_output("ready", START_S)
    with standalone.client() as client:
        client.delete(f"{hf.namespace}:{{lock:nightly}}:state")
    assert run.wait(START_S) == 123
    assert "the command was ended, as lock 'nightly' was lost" in run.output
    assert "under fence" in run.output


def test_a_server_that_is_away_for_too_long(begin: Begin, tmp_path: Path) -> None:
    """End the command; pass its output on to the end."""
    folder = tmp_path / "data"
    url = server.start(folder).url
    script = "trap 'echo cleaned up; exit 0' TERM; echo ready; while :; do sleep 0.1; done"
    run = begin("--lease", str(LEASE_S), *shell(script), url=url)
    try:
        run.wait_for_output("ready", START_S)
    finally:
        server.stop(folder, force=True)
    assert run.wait() == 123
    assert "cleaned up\nholdfast: the command was ended, as lock 'nightly' was lost" in run.output


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc to find the guard")
def test_a_killed_guard_is_replaced(hf: Holdfast, begin: Begin, standalone: Server) -> None:
    """End the command with its lease, although its guard was killed."""
    run = begin("--lease", str(LEASE_S), *shell("echo ready; exec sleep 600"))
    run.wait_for_output("ready", START_S)
    [guard] = eventually(lambda: list(guards_of(run)))
    os.kill(guard, signal.SIGKILL)
    with standalone.client() as client:
        client.delete(f"{hf.namespace}:{{lock:nightly}}:state")
    assert run.wait(START_S) == 123


def guards_of(run: Process) -> Iterator[int]:
    """Yield the ids of processes that guard the command of *run*."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"guard.py" in (path / "cmdline").read_bytes():
                parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == run.pid:
                    yield int(path.name)


def test_a_command_that_does_not_end_is_killed(
    hf: Holdfast, begin: Begin, standalone: Server, tmp_path: Path
) -> None:
    """Kill its processes too, after the grace."""
    script = "trap '' TERM; sleep 600 & echo $! > \"$1\"; echo ready; wait; sleep 600"
    pid_file = tmp_path / "pid"
    run = begin("--lease", str(LEASE_S), "--grace", "0.3", *shell(script, pid_file))
    run.wait_for_output("ready", START_S)
    assert is_running(pid_file)
    with standalone.client() as client:
        client.delete(f"{hf.namespace}:{{lock:nightly}}:state")
    assert run.wait(START_S) == 123
    eventually(lambda: not is_running(pid_file))


def test_a_run_that_is_stopped_beyond_its_lease(hf: Holdfast, begin: Begin, tmp_path: Path) -> None:
    """End the command meanwhile; name the new holder when the run goes on."""
    pid_file = tmp_path / "pid"
    script = 'echo $$ > "$1"; echo ready; exec sleep 600'
    run = begin("--lease", str(LEASE_S), *shell(script, pid_file))
    run.wait_for_output("ready", START_S)
    until_guarded(run)
    run.pause()
    eventually(lambda: not is_running(pid_file), LEASE_S + SLACK_S)
    with hf.lock("nightly").hold(timeout=LEASE_S + SLACK_S) as lease:
        run.resume()
        assert run.wait() == 123
    assert f"{lease.holder} holds it now" in run.output


def test_a_killed_run_frees_the_lock_and_ends_its_command(
    hf: Holdfast, begin: Begin, tmp_path: Path
) -> None:
    """End the command first; free the lock within the lease and a second."""
    pid_file = tmp_path / "pid"
    script = 'echo $$ > "$1"; echo ready; exec sleep 600'
    run = begin("--lease", str(LEASE_S), *shell(script, pid_file))
    run.wait_for_output("ready", START_S)
    until_guarded(run)
    run.kill()
    killed_at = time.monotonic()
    with hf.lock("nightly").hold(timeout=LEASE_S + SLACK_S):
        assert time.monotonic() - killed_at <= LEASE_S + SLACK_S
        assert not is_running(pid_file)


def test_a_command_that_ends_by_itself_may_leave_others_behind(
    begin: Begin, tmp_path: Path
) -> None:
    """End its processes only if the lease is lost."""
    pid_file = tmp_path / "pid"
    run = begin(*shell('sleep 600 > /dev/null 2>&1 & echo $! > "$1"', pid_file))
    assert run.wait(START_S) == 0
    assert is_running(pid_file)
    os.kill(int(pid_file.read_text()), signal.SIGKILL)


def test_on_a_terminal_ctrl_c_reaches_the_command_once(hf: Holdfast, standalone: Server) -> None:
    """Run it in the foreground: it reads the keys and gets signals once."""
    variables = {"HOLDFAST_URL": standalone.url, "HOLDFAST_NAMESPACE": hf.namespace}
    script = "trap 'echo heard; exit 9' INT; echo ready; read line; echo read $line; exit 1"
    command = ("locks", "run", "nightly", *map(str, shell(script)))
    code, shown = on_terminal(*command, wait_for="ready", say=CTRL_C, **variables)
    assert (code, shown.count("heard")) == (9, 1), shown
    code, shown = on_terminal(*command, wait_for="ready", say="hello\n", **variables)
    assert (code, "read hello" in shown) == (1, True), shown
    assert not is_held(hf)
