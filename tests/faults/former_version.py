"""The version that was released last, built from its tag: `FormerVersion`."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIRST = "tests/project/layout-1.json"
"""While there is no tag: the commit with the first record of the layout."""


class NoFormerVersion(Exception):
    """There is no former version here; the text says why."""


@dataclass(frozen=True)
class FormerVersion:
    """A former version that can run beside the present one.

    Attributes:
        name: its tag or commit.
        wheel: where its wheel is unpacked.
        tests: its tests, with the programs that were written for it.
    """

    name: str
    wheel: Path
    tests: Path

    @property
    def env(self) -> dict[str, str]:
        """Return what lets a Python program import it and its tests, instead of the present ones.

        The second variable prevents a fork of a process that has imported the present ones.
        """
        path = os.pathsep.join([str(self.wheel), str(self.tests)])
        return {"PYTHONPATH": path, "PYTHONNOUSERSITE": "1"}


def former_version(folder: Path) -> FormerVersion:
    """Build the version of the newest tag in *folder*.

    Raises:
        NoFormerVersion: the source is no clone, or a shallow one.
    """
    commit = _newest_tag() or _first_record()
    source, built, wheel = (folder / name for name in ("source", "built", "wheel"))
    archive = folder / "source.tar"
    _git("archive", "--output", str(archive), commit)
    with tarfile.open(archive) as whole:
        whole.extractall(source, filter="data")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [path] = built.glob("*.whl")
    with zipfile.ZipFile(path) as whole:
        whole.extractall(wheel)
    return FormerVersion(commit, wheel, source / "tests")


def _newest_tag() -> str:
    tags = _git("tag", "--list", "v[0-9]*", "--sort=-version:refname", "--merged", "HEAD")
    return tags.partition("\n")[0]


def _first_record() -> str:
    if _git("rev-parse", "--is-shallow-repository") == "true":
        raise NoFormerVersion("this clone is shallow, and has no tag: git fetch --unshallow --tags")
    commit = _git("log", "--diff-filter=A", "--format=%H", "--", FIRST)
    if not commit:
        raise NoFormerVersion(f"no commit has added {FIRST}")
    return commit.splitlines()[-1]


def _git(*arguments: str) -> str:
    if not shutil.which("git"):
        raise NoFormerVersion("git is not installed")
    if not (ROOT / ".git").exists():
        raise NoFormerVersion("this source is no clone of the repository")
    command = ["git", "-C", str(ROOT), "-c", f"safe.directory={ROOT}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoFormerVersion(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()
