"""Fresh environments for the tools that install the package as users do."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
_SHOWN: Final = 4000
"""Characters of the output of a command that failed."""

PIP: Final = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def environment(python: str, folder: Path) -> str:
    """Create an environment, and return its interpreter."""
    if python == sys.executable:
        venv.create(folder, with_pip=True)
    else:
        run([python, "-m", "venv", str(folder)])
    return str(folder / "bin" / "python")


def build(source: Path, folder: Path, *kinds: str) -> None:
    """Build archives of a source tree with the hatchling of this environment.

    Args:
        source: a checkout, or an unpacked source archive.
        folder: where the archives are written.
        kinds: `sdist`, `wheel`, or both.
    """
    for kind in kinds:
        command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
        run(command, source)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a source archive, and return the folder in it."""
    with tarfile.open(archive) as whole:
        whole.extractall(folder, filter="data")
    [source] = folder.iterdir()
    return source


def run(command: Sequence[str], place: Path | None = None, path: str = "") -> None:
    """Run a command without the Python settings of this process.

    Args:
        command: the program and its arguments.
        place: the working directory.
        path: `PATH` of the command; empty for the one of this process.

    Raises:
        CalledProcessError: it failed. What it printed last is on stderr.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if path:
        env["PATH"] = path
    done = subprocess.run(
        command, cwd=place, env=env, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-_SHOWN:], file=sys.stderr)
    done.check_returncode()
