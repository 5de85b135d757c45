"""A real MariaDB of the system, in a folder of its own."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

import sqlalchemy as sa

from faults import evidence
from faults.ports import LOOPBACK, Port
from faults.processes import Process
from faults.waiting import eventually

READY_S = 60.0
SPARING = (
    *("--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=2", "--skip-log-bin"),
    *("--innodb-log-file-size=8M", "--skip-grant-tables", "--skip-networking=0"),
)


class MariaDb:
    """A server with its own folder and port; `with` starts and removes it."""

    def __init__(self) -> None:
        self._port = Port()
        self._folder = Path(tempfile.mkdtemp(prefix="holdfast-mariadb-"))
        data = self._folder / "data"
        user = []
        if os.getuid() == 0:
            self._folder.chmod(0o755)
            data.mkdir()
            shutil.chown(data, pwd.getpwnam("nobody").pw_uid)
            user = ["--user=nobody"]
        where = ["--no-defaults", f"--datadir={data}", *user]
        install = [
            "mariadb-install-db",
            *where,
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        address = [f"--bind-address={LOOPBACK}", f"--port={self._port.number}"]
        files = [f"--socket={data}/server.sock", f"--pid-file={data}/server.pid"]
        self.name = f"mariadb {self._port.number}"
        self._process = Process(
            str(shutil.which("mariadbd")), *where, *address, *files, *SPARING, name=self.name
        )

    def url(self, driver: str = "pymysql") -> str:
        """Return the URL for `create_engine`."""
        return f"mysql+{driver}://root@{LOOPBACK}:{self._port.number}/holdfast"

    def start(self) -> None:
        """Start the server, and return when it answers."""
        self._process.start()
        eventually(
            lambda: not self._process.is_running or self._answers(), READY_S, reason=self.name
        )
        if not self._process.is_running:
            raise AssertionError(
                f"{self.name} did not start:\n{evidence.tail(self._process.output)}"
            )

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

    def _answers(self) -> bool:
        engine = sa.create_engine(self.url().replace("/holdfast", "/mysql"))
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql("CREATE DATABASE IF NOT EXISTS holdfast")
        except sa.exc.OperationalError:
            return False
        finally:
            engine.dispose()
        return True
