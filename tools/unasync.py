"""Write the blocking half from the asyncio half; `--check` fails when the two differ.

Each file of a folder `_async` becomes a file of the same name in the folder `_sync` beside it, and
each `*_async.py` in `tests` a `*_sync.py`. It works on tokens: comments,
layout and strings stay as they are, `async` and `await` disappear, and the names below change. A
rule that is never used is an error, so that the table stays true.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HAND_WRITTEN = ("src/holdfast/core/concurrency", "src/holdfast/core/transport")
"""Folders where both halves are written by hand: they wait, and move bytes."""

DROPPED = {"async", "await"}
RENAMED = {
    "AbstractAsyncContextManager": "AbstractContextManager",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "_async": "_sync",
    "asynccontextmanager": "contextmanager",
    "eventually_async": "eventually",
    "running_async": "running",
}
CLASS_PREFIX = re.compile(r"\bAsync(?=[A-Z])")
HEADER = "# Generated from {source} by tools/unasync.py: edit that, then run `make sync`.\n"


def files_of(half: str) -> list[Path]:
    """Return the files of one half, `async` or `sync`, except those written by hand."""
    found = [
        *ROOT.glob(f"src/holdfast/**/_{half}/*.py"),
        *ROOT.glob(f"tests/**/_{half}/*.py"),
        *ROOT.glob(f"tests/**/*_{half}.py"),
    ]
    return sorted(
        path
        for path in found
        if path.name != "__init__.py"
        and not path.relative_to(ROOT).as_posix().startswith(HAND_WRITTEN)
    )


def twin(path: Path, half: str = "sync") -> Path:
    """Return where the other half of *path* is, which is the *half* named."""
    other = "async" if half == "sync" else "sync"
    if path.parent.name == f"_{other}":
        return path.parent.with_name(f"_{half}") / path.name
    return path.with_name(path.name.replace(f"_{other}.py", f"_{half}.py"))


def unasync(source: Path, used: set[str]) -> str:
    """Return the blocking half of *source*; add the rules that it needed to *used*.

    Names are translated. All other text (blanks, strings, comments, signs) stays as it is, without
    `Async` in the names of classes.
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
    return HEADER.format(source=_shown(source)) + "".join(out).replace("redis.asyncio", "redis")


def _shown(source: Path) -> str:
    """Return *source* as its twin names it: short, so that the line fits."""
    return f"_async/{source.name}" if source.parent.name == "_async" else source.name


def _translated(name: str, used: set[str]) -> str:
    if name in RENAMED:
        used.add(name)
    return CLASS_PREFIX.sub("", RENAMED.get(name, name))


def formatted(text: str, name: str) -> str:
    """Return *text* as ruff formats it: shorter lines join, imports are sorted."""
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
    """Write the blocking files, or compare them."""
    check = "--check" in sys.argv
    used: set[str] = set()
    differing = []
    for source in files_of("async"):
        target = twin(source)
        text = formatted(unasync(source, used), str(target.relative_to(ROOT)))
        if not target.exists() or target.read_text() != text:
            differing.append(target)
            if not check:
                target.parent.mkdir(exist_ok=True)
                target.write_text(text)
    orphans = {path for path in files_of("sync") if not twin(path, "async").exists()}
    for path in orphans:
        print(f"{path.relative_to(ROOT)} has no asyncio half")
    if unused := set(RENAMED) - used:
        print("rules never used:", ", ".join(sorted(unused)))
    if check and differing:
        print("not up to date, run `make sync`:", *(str(p.relative_to(ROOT)) for p in differing))
    return bool(orphans or unused or (check and differing))


if __name__ == "__main__":
    sys.exit(main())
