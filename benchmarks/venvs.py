"""Interpreters for the contenders: rivals live in a virtual environment each, made on demand."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

FOLDER: Final = ROOT / ".rivals"
"""Outside of the folders that tests, packages and style checks look through."""

_INSTALL_S: Final = 600.0


def interpreter(name: str, packages: Sequence[str] | None) -> Path:
    """Return the Python of the contender *name*, with *packages*.

    Raises:
        SystemExit: they could not be installed; with the output of pip.
    """
    if packages is None:
        return Path(sys.executable)
    folder = FOLDER / name
    python = folder / "bin" / "python"
    wanted, ready = "\n".join((sys.version, *packages)), folder / "ready"
    if not ready.exists() or ready.read_text() != wanted:
        _install(folder, python, packages)
        ready.write_text(wanted)
    return python


def _install(folder: Path, python: Path, packages: Sequence[str]) -> None:
    print(f"installing {', '.join(packages)} into {folder.relative_to(ROOT)}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *packages,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
    if done.returncode:
        raise SystemExit(f"{folder.name} could not be installed:\n{done.stderr}")
