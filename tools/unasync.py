"""Write the blocking half from the asyncio half; `--check` fails when the two differ.

Every `_async.py` in `src/holdfast` becomes a `_sync.py` beside it, and every `*_async.py` in
`tests` a `*_sync.py`. It works on tokens: comments, layout and strings stay as they are, `async`
and `await` go, and the names below change. A rule that is never used is an error, so the table
cannot rot.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HAND_WRITTEN = {
    "src/holdfast/core/runtime/_async.py",
    "src/holdfast/core/runtime/company/_async.py",
    "src/holdfast/core/runtime/repeating/_async.py",
    "src/holdfast/core/connections/lane/_async.py",
    "src/holdfast/core/connections/stream/_async.py",
}
DROPPED = {"async", "await"}
RENAMED = {
    "AbstractAsyncContextManager": "AbstractContextManager",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "_async": "_sync",
    "eventually_async": "eventually",
    "running_async": "running",
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
    """The blocking half of *source*; the rules it needed are added to *used*.

    Names are translated; what stands between them (blanks, strings, comments, signs) is taken over
    as it is written, with `Async` dropped from the names of classes in it.
    """
    text = source.read_text()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    out: list[str] = []
    position, dropped = 0, False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.NAME:
            continue
        start = starts[token.start[0] - 1] + token.start[1]
        between = CLASS_PREFIX.sub("", text[position:start])
        out.append(between.lstrip(" ") if dropped else between)
        position = start + len(token.string)
        dropped = token.string in DROPPED
        if not dropped:
            out.append(_translated(token.string, used))
    out.append(CLASS_PREFIX.sub("", text[position:]))
    return HEADER.format(source=source.name) + "".join(out).replace("redis.asyncio", "redis")


def _translated(name: str, used: set[str]) -> str:
    if name in RENAMED:
        used.add(name)
    return CLASS_PREFIX.sub("", RENAMED.get(name, name))


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
