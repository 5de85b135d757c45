"""A terminal that knows as much as Rich needs to draw a screen in place."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

TOKEN: Final = re.compile(
    r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\]8;[^\x1b]*\x1b\\|([\r\n])|([^\x1b\r\n]+)|\x1b"
)

COLOURS: Final = {"31": "red", "32": "green", "33": "yellow", "36": "cyan"}


class Run(NamedTuple):
    """Text in one style: names of CSS classes."""

    text: str
    style: str


class Terminal:
    """The lines of a terminal.

    Attributes:
        columns: its width.
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self._lines: list[list[tuple[str, str]]] = [[]]
        self._row = self._column = 0
        self._style: frozenset[str] = frozenset()

    def feed(self, output: str) -> None:
        """Draw the *output* of a program."""
        for arguments, command, control, text in TOKEN.findall(output):
            if command == "m":
                self._set_style(arguments)
            elif command == "A":
                self._row = max(0, self._row - int(arguments or 1))
            elif command == "K":
                self._lines[self._row] = []
            elif control == "\r":
                self._column = 0
            elif control == "\n":
                self._new_line()
            elif text:
                self._write(text)

    def lines(self, rows: int) -> list[list[Run]]:
        """Return the last *rows* lines, as runs of text in one style."""
        last = max((n for n, line in enumerate(self._lines) if line), default=0)
        return [_runs(line) for line in self._lines[max(0, last + 1 - rows) : last + 1]]

    def _new_line(self) -> None:
        self._row, self._column = self._row + 1, 0
        while len(self._lines) <= self._row:
            self._lines.append([])

    def _write(self, text: str) -> None:
        for character in text:
            if self._column >= self.columns:
                self._new_line()
            line = self._lines[self._row]
            line += [(" ", "")] * (self._column + 1 - len(line))
            line[self._column] = character, " ".join(sorted(self._style))
            self._column += 1

    def _set_style(self, arguments: str) -> None:
        codes = arguments.split(";") if arguments else ["0"]
        if codes[:2] == ["38", "5"]:
            self._style |= {"dim"}
            return
        for code in codes:
            if code in ("0", ""):
                self._style = frozenset()
            elif code == "1":
                self._style |= {"bold"}
            elif code == "2":
                self._style |= {"dim"}
            elif code in COLOURS:
                self._style |= {COLOURS[code]}


def _runs(line: list[tuple[str, str]]) -> list[Run]:
    """Return the characters of *line*, joined where their style is the same."""
    runs: list[Run] = []
    for character, style in line:
        if runs and runs[-1].style == style:
            runs[-1] = Run(runs[-1].text + character, style)
        else:
            runs.append(Run(character, style))
    return runs
