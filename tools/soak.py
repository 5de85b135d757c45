"""Let `holdfast demo --check` live for long, and write what it cost into docs/soak.md.

    python tools/soak.py [--seconds 1800] [--seed 7] [--report FILE]

With `--report` it writes the page of a report that is there, as `demo --check --json` printed it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from holdfast_demo.resources import FILES, MEMORY, NOT_JUDGED, OLD_S

ABOUT: Final = Path(__file__).with_suffix(".md")
PAGE: Final = Path(__file__).resolve().parents[1] / "docs/soak.md"
NAMED: Final = 5
"""Number of problems of a promise that the page shows."""

SHOWN: Final = 1 / 200
"""Blocks with less of the bytes are put together."""

Course = dict[str, Any]


def main() -> int:
    """Play it, or read what was played; write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", default="1800")
    parser.add_argument("--seed", default="7")
    parser.add_argument("--report", type=Path)
    asked = parser.parse_args()
    report = json.loads(asked.report.read_text()) if asked.report else played(asked)
    PAGE.write_text(page(report), encoding="utf-8")
    return 0 if report["ok"] else 1


def played(asked: argparse.Namespace) -> dict[str, Any]:
    """Run the demo for so many seconds, and return its report."""
    command = ["demo", "--check", "--json", "--seconds", asked.seconds, "--seed", asked.seed]
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", *command], stdout=subprocess.PIPE, check=False
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def page(report: dict[str, Any]) -> str:
    """Return a report as a page."""
    promises, kept = report["promises"], report["costs"]["kept"]
    judged = [c for c in report["costs"]["courses"] if c["lasted_s"] >= OLD_S and c["parts"]]
    held = [course for course in judged if (course["name"], course["what"]) not in NOT_JUDGED]
    shown = [kept[1 if len(kept) > 1 else 0], kept[len(kept) // 2], kept[-1]]
    first, middle, last = (f"{each['at_s'] / 60:.0f}" for each in shown)
    return ABOUT.read_text(encoding="utf-8").format(
        minutes=report["seconds"] / 60,
        seed=report["seed"],
        verdict=verdict(promises, len(report["killed"])),
        promises="\n".join(map(promise_row, promises)),
        killed=", ".join(f"{name} {n} ×" for name, n in Counter(report["killed"]).most_common()),
        processes="\n".join(process_rows(judged)),
        judged=len(held),
        grown=sum(course["grew"] for course in held) or "none",
        server="\n".join(server_rows(judged)),
        kept="\n".join(kept_rows(shown)),
        first=first,
        middle=middle,
        last=last,
    )


def verdict(promises: Sequence[dict[str, Any]], kills: int) -> str:
    """Return the result in a sentence."""
    broken = [promise for promise in promises if not promise["kept"]]
    if broken:
        found = [problem for promise in broken for problem in promise["problems"][:NAMED]]
        whole = f"**{len(broken)} of {len(promises)} promises were not kept.** For instance:"
        return "\n".join([whole, "", *(f"* {problem}" for problem in found)])
    return f"**All {len(promises)} promises were kept, after {kills} kills.**"


def promise_row(promise: dict[str, Any]) -> str:
    """Return the row of a promise."""
    sign = "kept" if promise["kept"] else "**not kept**"
    held = f"{promise['checked']:,} {promise['what']}"
    return f"| {promise['block']} | {promise['promise']} | {held} | {sign} |"


def process_rows(courses: Sequence[Course]) -> Iterator[str]:
    """Yield the rows of the oldest process of each name."""
    oldest: dict[tuple[str, str], Course] = {}
    for course in sorted(courses, key=lambda course: float(course["lasted_s"])):
        oldest[course["name"], course["what"]] = course
    for name, what in sorted(oldest):
        if what == MEMORY and name != "server":
            memory, files = oldest[name, MEMORY], oldest[name, FILES]
            lived = f"{memory['lasted_s'] / 60:.0f} min"
            yield f"| {name} | {lived} | {parts(memory, 1)} MB | {parts(files, 0)} |"


def server_rows(courses: Sequence[Course]) -> Iterator[str]:
    """Yield the rows of connections, and of memory outside keys."""
    for course in courses:
        if course["name"] == "server" and course["what"] not in (MEMORY, FILES):
            first, middle, last = (f"{part:.1f}" for part in course["parts"])
            yield f"| {course['what']} | {first} | {middle} | {last} |"


def parts(course: Course, digits: int) -> str:
    """Return a value at the start, in the middle and at the end."""
    return " → ".join(f"{part:.{digits}f}" for part in course["parts"])


def kept_rows(shown: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the rows of the blocks with most of the bytes, and of all others together."""
    last = shown[-1]["bytes"]
    large = [block for block, n in last.items() if n >= SHOWN * sum(last.values())]
    for block in large:
        yield kept_row(block, shown, [block])
    yield kept_row("others", shown, sorted({*last} - {*large}))
    yield kept_row("all", shown, sorted(last))


def kept_row(name: str, shown: Sequence[dict[str, Any]], blocks: Sequence[str]) -> str:
    """Return how many keys these blocks had, and how much memory they took."""
    cells = [sum(each["keys"].get(b, 0) for b in blocks) for each in shown]
    cells += [sum(each["bytes"].get(b, 0) for b in blocks) for each in shown]
    return f"| {name} | {' | '.join(f'{cell:,}' for cell in cells)} |"


if __name__ == "__main__":
    sys.exit(main())
