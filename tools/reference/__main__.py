"""Write docs/reference from docstrings and docs/keys.md from every keys.py; `--check` only looks.

`python tools/reference`, or `make sync`. Both are committed, so that they can be read where the
source is; `make check` fails when they differ from it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from keys import layout
from rooms import Room, rooms

DOCS = Path(__file__).resolve().parents[2] / "docs"


def pages() -> dict[Path, str]:
    """Return the contents of each generated page."""
    found = rooms()
    written = {DOCS / "reference" / f"{room.name}.md": room.page() for room in found}
    written[DOCS / "reference" / "README.md"] = contents(found)
    written[DOCS / "keys.md"] = layout()
    return written


CONTENTS = """\
# Reference

Everything is imported from `holdfast`. What is said of `Lock` holds for `AsyncLock`: the same names
and signatures, and what does I/O is awaited.

A `Duration` is seconds as a number, or a `timedelta`; an `Instant` is an aware `datetime` or
seconds since 1970. Arguments after `*` are given by name. Wrong arguments are `ValueError` or
`TypeError` before anything is sent; every call may raise
[`ServerUnavailable`](errors.md#serverunavailable), and every write
[`OutcomeUnknown`](errors.md#outcomeunknown).

| | |
|---|---|
"""


def contents(found: list[Room]) -> str:
    """Return the first page: which name is on which page."""
    rows = []
    for room in found:
        links = " ".join(f"[`{name}`]({room.name}.md#{name.lower()})" for name in room.names)
        rows.append(f"| [{room.title}]({room.name}.md) | {links} |\n")
    return CONTENTS + "".join(rows)


def main() -> int:
    """Write what differs, or name it."""
    wanted = pages()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    left_over = set((DOCS / "reference").glob("*.md")) - set(wanted)
    if "--check" in sys.argv:
        for path in [*stale, *sorted(left_over)]:
            print(f"{path.relative_to(DOCS.parent)} is not what the source says: run `make sync`")
        return bool(stale or left_over)
    (DOCS / "reference").mkdir(exist_ok=True)
    for path in stale:
        path.write_text(wanted[path])
    for path in left_over:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
