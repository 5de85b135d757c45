"""What works on Windows works without the modules and functions that only POSIX systems have.

No test runs on Windows: a process hides what is missing there, and says that it is Windows.
"""

import subprocess
import sys
from textwrap import dedent

import pytest

from faults.servers import Server
from project.sources import ROOT

HIDE = dedent("""
    import importlib, sys
    import asyncio, multiprocessing.connection, os, shutil, signal, socket, ssl, subprocess
    import sysconfig, tempfile, threading, time, uuid, zoneinfo
    import hiredis, msgspec, redis, redis.asyncio, redis.asyncio.cluster, redis.asyncio.sentinel
    import maxminddb, polars, prometheus_client, rich.console, sqlalchemy.ext.asyncio, typer
    import starlette.applications, uvicorn

    for name in ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"):
        sys.modules[name] = None
    for module, names in {
        os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK chown fchmod fork geteuid getgid getpgid"
            " getuid killpg pread register_at_fork setpgid setsid uname waitid",
        signal: "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1"
            " SIGUSR2 SIGWINCH pthread_kill pthread_sigmask",
        socket: "SO_REUSEPORT TCP_USER_TIMEOUT",
        time: "CLOCK_BOOTTIME CLOCK_MONOTONIC clock_gettime",
    }.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    sys.platform = "win32"
""")

USE = dedent("""
    from holdfast import AsyncHoldfast, Holdfast, Limit, TaskRegistry, UnsupportedPlatform

    url, namespace = sys.argv[1:]
    tasks = TaskRegistry()

    @tasks.task(queue="email")
    def send(n: int) -> int:
        return n

    class Source:
        def load(self, ids):
            return {each: {"n": each} for each in ids}

    def refused(function, *args, **options):
        try:
            function(*args, **options)
        except UnsupportedPlatform as error:
            return str(error)
        raise AssertionError(function)

    async def asynchronously():
        async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
            assert (await (await hf.enqueue(send.call(2))).status()).state == "queued"
            async with hf.lock("b").hold(timeout=60):
                pass

    with Holdfast.from_url(url, namespace=namespace) as hf:
        assert hf.enqueue(send.call(1)).status().state == "queued"
        with hf.lock("a").hold(timeout=60) as lease:
            assert lease.fence
        assert hf.row_cache("stock", source=Source()).get(1).value == {"n": 1}
        hf.counter("hits").add(1)
        hf.mailbox("jack").send("hello", sender="jill")
        hf.completions("guild").add("jack")
        hf.rate_limit("api", Limit(5, per=1.0)).acquire()
        asyncio.run(asynchronously())
        print(refused(hf.worker, tasks))
        print(refused(hf.file_feed, "logs"))
    print(refused(Holdfast.embedded))
""")

COMMAND = "from holdfast.cli import main; sys.exit(main())"


def run(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", HIDE + code, *args]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=100)


def test_what_works_on_windows(standalone: Server) -> None:
    done = run(USE, standalone.url, "windows")
    assert done.returncode == 0, done.stderr
    assert [line.partition(" needs Linux or macOS")[0] for line in done.stdout.splitlines()] == [
        "a worker",
        "a file feed",
        "an embedded server",
    ]


def test_modules_are_imported_on_windows() -> None:
    """By the same program that runs on Windows itself, in the workflow."""
    program = ROOT / "tools" / "import_all.py"
    done = run("import runpy; runpy.run_path(sys.argv[1], run_name='__main__')", str(program))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 300


@pytest.mark.parametrize("command", ["worker", "top", "serve", "server", "demo", "logs"])
def test_commands_that_are_refused_on_windows(command: str) -> None:
    done = run(COMMAND, command, "--help")
    assert done.returncode == 1
    assert done.stderr.startswith(f"holdfast: `holdfast {command}` needs Linux or macOS")


def test_commands_of_windows(standalone: Server) -> None:
    listed = run(COMMAND, "locks", "ls", "--url", standalone.url)
    assert (listed.returncode, listed.stderr) == (0, "")
    refused = run(COMMAND, "locks", "run", "a", "--url", standalone.url, "--", sys.executable)
    assert refused.returncode == 1
    assert "`holdfast locks run` needs Linux or macOS" in refused.stderr
