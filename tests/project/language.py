"""Check the prose of the project: words that it avoids, and how docstrings begin.

Run it on folders to list what is wrong in them: `python tests/project/language.py src docs`.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

AVOIDED: Final = {
    "whoever": "name the actor: the caller, the worker, the holder",
    "whom": "name the actor",
    "whose": "use 'its', 'of the …' or 'with'",
    "likewise": "repeat what is meant",
    "nobody": "name the actor: 'no worker', 'no caller'",
    "somebody": "name the actor: 'another process', 'a waiter'",
    "no one": "name the actor",
    "of which": "start a new sentence",
    "therein": "use 'in it'",
    "anew": "use 'again'",
    "for ever": "use 'without limit' or 'forever'",
    "tell": "use 'report', 'return' or 'show'",
    "tells": "use 'reports', 'returns' or 'shows'",
    "told": "use 'reported', 'notified' or 'passed'",
    "mend": "use 'fix' or 'repair'",
    "mends": "use 'fixes' or 'repairs'",
    "mended": "use 'fixed' or 'repaired'",
    "else": "as a conjunction: use 'otherwise'",
}
"""Archaic and elliptic forms, and verbs that stand for the field's own, with what to write."""

_AVOIDED: Final = re.compile(
    r"\b(?:(?P<word>{})\b|(?P<else>(?:[,;:.] |^|\bor )else\b(?! ?:| if\b)))".format(
        "|".join(sorted((re.escape(word) for word in AVOIDED if word != "else"), key=len)[::-1])
    ),
    re.IGNORECASE | re.MULTILINE,
)
_FENCED: Final = re.compile(r"^```.*?^```$|<!--.*?-->|\]\([^)\n]*\)", re.MULTILINE | re.DOTALL)
"""What is no prose in a page: blocks of code, comments, and the targets of links."""

_CODE: Final = re.compile(r"``?[^`\n]+``?|\"[^\"\n]*\"|^ *(>>>|\.\.\.) .*$", re.MULTILINE)

NOT_A_VERB: Final = {
    *(
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "it",
        "its",
        "one",
        "each",
        "every",
        "all",
    ),
    *(
        "some",
        "several",
        "both",
        "other",
        "another",
        "no",
        "none",
        "nothing",
        "everything",
        "something",
    ),
    *("what", "which", "who", "where", "when", "why", "how", "whether", "whatever", "there"),
    *(
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "of",
        "on",
        "over",
        "to",
        "with",
        "within",
        "without",
    ),
    *(
        "after",
        "before",
        "since",
        "until",
        "while",
        "if",
        "so",
        "because",
        "only",
        "also",
        "not",
        "up",
    ),
    *(
        "returns",
        "raises",
        "waits",
        "makes",
        "holds",
        "runs",
        "sends",
        "takes",
        "gives",
        "keeps",
        "says",
    ),
    *(
        "say",
        "tell",
        "be",
        "neither",
        "either",
        "first",
        "last",
        "whole",
        "true",
        "false",
        "seconds",
    ),
}
"""Words with which the docstring of a function must not begin: use an imperative verb."""


class Remark(NamedTuple):
    """One thing that is wrong.

    Attributes:
        path: the file.
        line: where in it.
        text: what is wrong, and what to write.
    """

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def remarks(path: Path) -> Iterator[Remark]:
    """Return what is wrong in the docstrings, comments and names of a file, or in a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        pages = _FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)
        prose = [*enumerate(pages.splitlines(), 1)]
    elif path.suffix == ".lua":
        prose = [
            (number, line.partition("--")[2])
            for number, line in enumerate(text.splitlines(), 1)
            if "--" in line
        ]
    else:
        nodes = list(ast.walk(ast.parse(text)))
        prose = [*_comments(text), *_docstrings(nodes), *_sentences(nodes), *_names(nodes)]
        if path.name != "keys.py":  # where a docstring begins with the type of the key
            yield from _beginnings(path, nodes)
    for number, words in prose:
        for found in _AVOIDED.finditer(_CODE.sub("", words)):
            word = (found["word"] or "else").lower()
            yield Remark(path, number, f"{found[0]!r}: {AVOIDED[word]}")


def _names(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Return the words in the names of functions and classes, tests included."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, re.sub(r"\belse\b", "", node.name.replace("_", " "))


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _docstrings(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Return each string that is a statement of its own, so those of constants as well."""
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str(words))):
                yield node.lineno, words


def _sentences(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Return the texts of several words in the code: errors, log records, help."""
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) in docstrings:
            continue
        match node:
            case ast.Constant(value=str(words)) if words.count(" ") > 2 and "\n" not in words:
                yield node.lineno, re.sub(r"\belse\b", "", words)


def _beginnings(path: Path, nodes: list[ast.AST]) -> Iterator[Remark]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[:5] != "test_":
            words = re.findall(r"[*`\w'-]+", ast.get_docstring(node) or "")
            if words and not words[0][:1].isalpha():
                yield Remark(path, node.lineno, f"{node.name}: begin with a verb, not {words[0]}")
            elif words and words[0].lower() in NOT_A_VERB:
                yield Remark(path, node.lineno, f"{node.name}: begin with a verb, not {words[0]!r}")


def files(*folders: Path) -> list[Path]:
    """Return the hand-written Python and Lua files and the pages below *folders*."""
    return [
        path
        for folder in folders
        for path in sorted(
            path for kind in ("py", "lua", "md") for path in folder.rglob(f"*.{kind}")
        )
        if "_sync" not in path.parts and not path.name.endswith("_sync.py")
    ]


if __name__ == "__main__":
    found = [each for path in files(*map(Path, sys.argv[1:])) for each in remarks(path)]
    print(*found, sep="\n")
    sys.exit(f"{len(found)} remarks" if found else 0)
