"""Run tests with the lowest versions of the dependencies that pyproject.toml allows.

    python tools/lowest.py [--python python3.11] [TEST ...]     # tests/core by default

The environment `.lowest` gets the lower bound of each dependency of the core and of the extras.
Tools that only tests need are the newest that fit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from itertools import chain
from typing import Final

from packaging.requirements import Requirement

from environments import PIP, ROOT, environment, run

FOLDER: Final = ROOT / ".lowest"
TOOLS: Final = {"all", "bench", "docs", "release", "test"}
"""Extras that no application installs."""
INDIRECT: Final = {"hiredis": "3.2.0"}
"""What the lowest redis-py asks for."""
REDIS_6: Final = "ignore:Call to '__init__' function with deprecated usage:DeprecationWarning"
"""Warns about arguments that redis-py 6 passes to itself."""


def constraints() -> list[str]:
    """Return `name==version` for each dependency, with its lower bound and its marker."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    used = [lines for name, lines in extras.items() if name not in TOOLS]
    found = {name: f"{name}=={version}" for name, version in INDIRECT.items()}
    for line in chain(project["dependencies"], *used):
        needed = Requirement(line)
        if needed.name != "holdfast":
            [lowest] = [each.version for each in needed.specifier if each.operator == ">="]
            marker = f"; {needed.marker}" if needed.marker else ""
            found[needed.name] = f"{needed.name}=={lowest}{marker}"
    return sorted(found.values())


def main() -> int:
    """Install, and run the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("tests", nargs="*", default=["tests/core"])
    given = parser.parse_args()
    inside = environment(given.python, FOLDER)
    limits = FOLDER / "constraints.txt"
    limits.write_text("\n".join(constraints()) + "\n")
    run([inside, *PIP, "--constraint", str(limits), "--editable", f"{ROOT}[all,test]"])
    print(limits.read_text(), flush=True)
    command = [inside, "-m", "pytest", "-q", "-n", "4", "-m", "not long", "-W", REDIS_6]
    command += given.tests
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
