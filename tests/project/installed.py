"""Run code with what an installation with one extra brings, and hide all other packages."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from project.sources import ROOT

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

_ONLY: Final = """
import json, sys
from importlib.machinery import PathFinder

given = json.loads(sys.argv[1])
allowed = {*given, "holdfast", "holdfast_demo", *sys.stdlib_module_names}

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in allowed or top.startswith("_sysconfigdata"):
            return super().find_spec(name, path, target)
        return None

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
sys.argv[1:] = sys.argv[2:]
"""
"""Hides all packages but the standard library's and those that are given, in JSON."""


@cache
def installed(extra: str) -> frozenset[str]:
    """Return the top-level modules that an installation of `holdfast[extra]` brings."""
    wanted: dict[str, set[str]] = {"holdfast": set()}
    left = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"].get(extra, ())]
    while left:
        needed = Requirement(left.pop())
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            key = _normal(needed.name)
            if key not in wanted or not needed.extras <= wanted[key]:
                wanted[key] = wanted.get(key, set()) | needed.extras
                left += _wanted_by(key, wanted[key])
    return frozenset(
        module
        for module, names in packages_distributions().items()
        if set(map(_normal, names)) & wanted.keys()
    )


def _normal(name: str) -> str:
    """Return the name of a distribution as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _wanted_by(name: str, extras: set[str]) -> Iterator[str]:
    """Yield what a distribution with some of its extras requires here."""
    for line in distribution(name).requires or ():
        needed = Requirement(line)
        marker, needed.marker = needed.marker, None
        if marker is None or any(marker.evaluate({"extra": each}) for each in ("", *extras)):
            yield str(needed)


def run(extra: str, code: str, *args: str, cwd: Path) -> str:
    """Return what *code* prints in a process that has what *extra* brings, and nothing else."""
    given = json.dumps(sorted(installed(extra)))
    done = subprocess.run(
        [sys.executable, "-c", _ONLY + code, given, *args],
        capture_output=True, text=True, check=False, cwd=cwd,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
