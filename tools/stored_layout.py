"""Compare the layout of stored data with the recorded one: `python tools/stored_layout.py`.

`docs/keys.md` and `docs/wire.md` describe the layout. Programs rely on the code in them: the names
of keys with their types, and the forms of values. `tests/project/layout-1.json` is the recorded
copy. A new key or form does not break older versions; one that disappeared or changed does.

`--update` records the layout. Do that when a release adds to it. Any other change needs a new
version of the layout: see `docs/versions.md`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = ("keys.md", "wire.md")
RECORDED: Final = ROOT / "tests" / "project" / "layout-1.json"

_BLOCK: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN: Final = re.compile(r"`+[^`]+`+")
_KEY: Final = re.compile(r"^\| (`[^|]*`) \| (HASH|LIST|SET|STREAM|STRING|ZSET) \|", re.MULTILINE)

Layout = dict[str, list[str]]
"""Page and heading → the code below the heading."""


def current() -> Layout:
    """Return the layout that the pages describe."""
    found: Layout = {}
    for page in PAGES:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for section in re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]:
            title, _, body = section.partition("\n")
            if codes := sorted(set(_codes(body))):
                found[f"{page}: {title}"] = codes
    return found


def _codes(body: str) -> Iterator[str]:
    """Yield the keys with their types, the lines of code, and the code in sentences."""
    for names, kind in _KEY.findall(body):
        yield f"{names} {kind}"
    for block in _BLOCK.findall(body):
        yield from block.splitlines()[1:-1]
    yield from _SPAN.findall(_BLOCK.sub("", body))


def missing(recorded: Layout, layout: Layout) -> list[str]:
    """Return what is recorded and not in *layout*, each with its page and heading."""
    return [
        f"{section}: {code}"
        for section, codes in recorded.items()
        for code in codes
        if code not in layout.get(section, ())
    ]


def main() -> None:
    """Print what is missing, or record the layout."""
    layout = current()
    if sys.argv[1:] == ["--update"]:
        text = json.dumps(layout, indent=1, ensure_ascii=False)
        RECORDED.write_text(f"{text}\n", encoding="utf-8")
        return
    recorded: Layout = json.loads(RECORDED.read_text(encoding="utf-8"))
    lost = missing(recorded, layout)
    print(*lost, f"{len(lost):,} recorded parts of the layout are missing or changed", sep="\n")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
