"""Check that the types of all public names are known: `python tools/typed.py`.

basedpyright reports each name of the package that has no type, or one that type checkers may infer
differently. The exit code is 0 only if there is none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

COMMAND: Final = ("-m", "basedpyright", "--verifytypes", "holdfast", "--ignoreexternal")


def report() -> dict[str, Any]:
    """Return the report of basedpyright, which looks for the package with the first `python`."""
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    }
    command = [sys.executable, *COMMAND, "--outputjson"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def problems(found: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each name without a known type, and for what kept the check from running."""
    for each in found["generalDiagnostics"]:
        yield each["message"]
    for symbol in found["typeCompleteness"]["symbols"]:
        if symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"]:
            continue
        for each in symbol["diagnostics"]:
            line = each.get("range", {}).get("start", {}).get("line", -1) + 1
            message = " ".join(each["message"].split())
            yield f"{each.get('file', '?')}:{line}: {symbol['name']}: {message}"


def main() -> None:
    """Print the problems and the score."""
    found = report()
    lines = list(dict.fromkeys(problems(found)))
    score = found["typeCompleteness"]["completenessScore"]
    print(*lines, f"known types: {100 * score:.2f} %", sep="\n")
    sys.exit(bool(lines) or score < 1)


if __name__ == "__main__":
    main()
