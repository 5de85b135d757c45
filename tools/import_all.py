"""Import every module that works on this system without more extras than `cli`.

    python tools/import_all.py

The Windows job runs it: no other test of the project runs there.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

EXTRAS: Final = ("django", "fastapi", "testing", "web")
"""Folders with modules that need an extra."""
OPTIONAL: Final = ("outbox.database_clock", "outbox.statements", "tallies.geo", "telemetry.")
POSIX: Final = ("cli.", "files", "server", "tallies")
"""Folders of what Windows refuses: `UnsupportedPlatform`."""


def names(package: Path) -> list[str]:
    """Return the modules to import."""
    left_out = EXTRAS + OPTIONAL + (POSIX if sys.platform == "win32" else ())
    found = [
        ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(package.rglob("*.py"))
        if path.name != "__main__.py" and path.parent / "__init__.py" != package / path.name
    ]
    return [f"holdfast.{name}" for name in found if not name.startswith(left_out)]


def main() -> int:
    """Import them, and print how many there are."""
    spec = find_spec("holdfast")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("holdfast is not installed")
    modules = names(Path(spec.submodule_search_locations[0]))
    for name in modules:
        importlib.import_module(name)
    print(f"{len(modules)} modules were imported")
    return 0


if __name__ == "__main__":
    sys.exit(main())
