"""Write docs/reference, docs/keys.md and stubs; `--check` only compares.

`python tools/reference`, or `make sync`. The reference comes from docstrings, the keys from each
`keys.py`, the stubs from the lists of public names. All are committed; `make check` fails when they
differ from their source.
"""

from __future__ import annotations

import sys
from pathlib import Path

from keys import layout
from pages import Page, load_pages
from stubs import stubs

DOCS = Path(__file__).resolve().parents[2] / "docs"


def generated() -> dict[Path, str]:
    """Return the text of each generated file."""
    found = load_pages()
    written = {DOCS / "reference" / f"{page.name}.md": page.markdown() for page in found}
    written[DOCS / "reference" / "README.md"] = contents(found)
    written[DOCS / "keys.md"] = layout()
    return written | stubs()


CONTENTS = """\
# Reference

Everything is imported from `holdfast`. A page about `Lock` holds for `AsyncLock` too: the
names and signatures are the same, and methods with I/O are awaited.

A `Duration` is seconds as a number, or a `timedelta`; an `Instant` is an aware `datetime` or
seconds since 1970. Arguments after `*` are given by name. Wrong arguments are `ValueError` or
`TypeError` before anything is sent; every call may raise
[`ServerUnavailable`](errors.md#serverunavailable), and every write
[`OutcomeUnknown`](errors.md#outcomeunknown).

| | |
|---|---|
"""


def contents(found: list[Page]) -> str:
    """Return the first page: links from each public name to its page."""
    rows = []
    for page in found:
        links = " ".join(f"[`{name}`]({page.name}.md#{name.lower()})" for name in page.names)
        rows.append(f"| [{page.title}]({page.name}.md) | {links} |\n")
    return CONTENTS + "".join(rows)


def main() -> int:
    """Write the files that differ; with `--check`, print their names."""
    wanted = generated()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    left_over = set((DOCS / "reference").glob("*.md")) - set(wanted)
    if "--check" in sys.argv:
        for path in [*stale, *sorted(left_over)]:
            print(f"{path.relative_to(DOCS.parent)} differs from its source: run `make sync`")
        return bool(stale or left_over)
    (DOCS / "reference").mkdir(exist_ok=True)
    for path in stale:
        path.write_text(wanted[path])
    for path in left_over:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
