"""Write the blocking half from the asyncio half; `--check` fails when the two differ.

Every `_async.py` in `src/holdfast` becomes a `_sync.py` beside it, and every `*_async.py` in
`tests` a `*_sync.py`. It works on tokens: comments, layout and strings stay as they are, `async`
and `await` go, and the names below change. A rule that is never used is an error, so the table
cannot rot.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HAND_WRITTEN = {"src/holdfast/core/runtime/_async.py"}
DROPPED = {"async", "await"}
RENAMED = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "_async": "_sync",
}
CLASS_PREFIX = re.compile(r"\bAsync(?=[A-Z])")
HEADER = "# Generated from {source} by tools/unasync.py: edit that one, then `make sync`.\n"


def sources() -> list[Path]:
    """Every file that has a generated twin."""
    found = [*ROOT.glob("src/holdfast/**/_async.py"), *ROOT.glob("tests/**/*_async.py")]
    return sorted(path for path in found if str(path.relative_to(ROOT)) not in HAND_WRITTEN)


def twin(source: Path) -> Path:
    """Where the blocking half of *source* goes."""
    return source.with_name(source.name.replace("_async.py", "_sync.py"))


def unasync(source: Path, used: set[str]) -> str:
    """The blocking half of *source*; the rules it needed are added to *used*."""
    out: list[str] = []
    row, column, skip_space = 1, 0, False
    with source.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type in (tokenize.ENCODING, tokenize.ENDMARKER):
                continue
            if token.start[0] != row:
                row, column = token.start[0], 0
            gap = "" if skip_space else " " * (token.start[1] - column)
            skip_space = token.type == tokenize.NAME and token.string in DROPPED
            out.append(gap if skip_space else gap + _translated(token, used))
            row, column = token.end
    text = "".join(out).replace("redis.asyncio", "redis")
    return HEADER.format(source=source.name) + text


def _translated(token: tokenize.TokenInfo, used: set[str]) -> str:
    if token.type == tokenize.NAME:
        if token.string in RENAMED:
            used.add(token.string)
        return CLASS_PREFIX.sub("", RENAMED.get(token.string, token.string))
    if token.type in (tokenize.STRING, tokenize.COMMENT):
        return CLASS_PREFIX.sub("", token.string)
    return token.string


def formatted(text: str, name: str) -> str:
    """*text* as ruff would leave it: shorter lines join, imports are sorted anew."""
    ruff = [sys.executable, "-m", "ruff"]
    stdin = ["--stdin-filename", name, "-"]
    for command in (
        [*ruff, "check", "--quiet", "--fix-only", *stdin],
        [*ruff, "format", "--quiet", *stdin],
    ):
        text = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return text


def main() -> int:
    """Write the twins, or compare them."""
    check = "--check" in sys.argv
    used: set[str] = set()
    differing = []
    for source in sources():
        target = twin(source)
        text = formatted(unasync(source, used), str(target.relative_to(ROOT)))
        if not target.exists() or target.read_text() != text:
            differing.append(target)
            if not check:
                target.write_text(text)
    orphans = {
        path
        for path in [*ROOT.glob("src/holdfast/**/_sync.py"), *ROOT.glob("tests/**/*_sync.py")]
        if not path.with_name(path.name.replace("_sync.py", "_async.py")).exists()
    }
    for path in orphans:
        print(f"{path.relative_to(ROOT)} has no asyncio half")
    if unused := set(RENAMED) - used:
        print("rules never used:", ", ".join(sorted(unused)))
    if check and differing:
        print("not up to date, run `make sync`:", *(str(p.relative_to(ROOT)) for p in differing))
    return bool(orphans or unused or (check and differing))


if __name__ == "__main__":
    sys.exit(main())
