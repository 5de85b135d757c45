"""A look drawn on a screen: as much of it as there is room for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..instants import utc
from ..output import counted, printable
from .frame import Frame
from .sections import VIEWS, Section, seen_in, server_lines, sums_line

WIDEST: Final = 32
"""Columns of anything but a name."""

NARROWEST_NAME: Final = 18
"""Columns that a name has before other columns give way."""

GAP: Final = 2

SERVERS: Final = 3
"""That are shown; a cluster may have hundreds."""

HELP: Final = "tab next   p pause   q quit"


@dataclass(slots=True)
class Picture:
    """What a screen shows, and how.

    Attributes:
        server: what it is called.
        every_s: between two looks.
        view: which sections are shown.
        frame: the last look that went well; None: there was none yet.
        problem: why there is no later one; empty: there is none.
        paused: whether nobody looks any more.
        keys: whether any are heard.
    """

    server: str
    every_s: float
    view: str = next(iter(VIEWS))
    frame: Frame | None = None
    problem: str = ""
    paused: bool = False
    keys: bool = False

    def turn(self, view: str | None = None) -> None:
        """Show *view*, or the next one."""
        views = list(VIEWS)
        self.view = view or views[(views.index(self.view) + 1) % len(views)]

    def drawn(self, width: int, height: int) -> RenderableType:
        """So many columns and rows of it."""
        lines = [*self._head(), *([self._problem()] if self.problem else [])]
        room = height - len(lines) - self.keys
        body = list(self._body(width, room))
        if self.keys:
            body += [Text()] * (room - sum(map(_height, body))) + [self._foot()]
        return Group(*lines, *body)

    def _head(self) -> Iterator[Text]:
        at = f"{utc(self.frame.at)} UTC" if self.frame else "no look yet"
        title = Text.assemble(
            ("holdfast top", "bold"),
            f"   {printable(self.frame.namespace) if self.frame else ''}",
            f"   {printable(self.server)}   {at}, every {self.every_s:g} s",
        )
        if self.paused:
            title = Text.assemble(("paused", "bold reverse yellow"), "   ", title)
        yield _line(title)
        if self.frame:
            servers = [printable(line) for line in server_lines(self.frame)]
            yield from (_line(Text(line)) for line in servers[:SERVERS])
            if len(servers) > SERVERS:
                yield _line(Text(f"and {counted(len(servers) - SERVERS, 'server')} more", "dim"))
            yield _line(Text(sums_line(self.frame)))

    def _problem(self) -> Text:
        told = f" {printable(self.problem)}; trying again "
        return _line(Text(told, "bold reverse red"))

    def _body(self, width: int, room: int) -> Iterator[RenderableType]:
        if self.frame is None:
            return
        sections = seen_in(self.frame, self.view)
        if not sections:
            what = "nothing" if self.view == "all" else f"nothing of {self.view}"
            yield _line(Text(f"{what} in use in this namespace", "dim"))
            return
        rows = shared([len(section.rows) for section in sections], room)
        used = sum(n + 1 for n in rows if n)
        airy = room - used >= sum(n > 0 for n in rows)
        for section, n in zip(sections, rows, strict=True):
            if n:
                if airy:
                    yield Text()
                yield table(section, n, width)

    def _foot(self) -> Text:
        foot = Text()
        for number, view in enumerate(VIEWS, 1):
            foot.append(f" {number} {view} ", "reverse" if view == self.view else "")
        return _line(foot.append(f"   {HELP}", "dim"))


def plain(frame: Frame, server: str, width: int | None) -> Iterator[RenderableType]:
    """All of *frame*, one thing after the other; *width* as of `table`."""
    yield Text(f"{printable(frame.namespace)}   {printable(server)}   {utc(frame.at)} UTC")
    for line in server_lines(frame):
        yield Text(printable(line))
    yield Text(sums_line(frame))
    for section in seen_in(frame, "all"):
        yield Text()
        yield table(section, len(section.rows), width)


def shared(wanted: Sequence[int], room: int) -> list[int]:
    """How many rows each section gets, one by one in turn; the first row comes with a title."""
    given = [0] * len(wanted)
    while True:
        before = room
        for i, want in enumerate(wanted):
            cost = 1 if given[i] else 2
            if given[i] < want and cost <= room:
                given[i] += 1
                room -= cost
        if room == before:
            return given


def table(section: Section, rows: int, width: int | None = None) -> Table:
    """The first *rows* of a section, in so many columns; None: each cell has the room it needs."""
    drawn = Table(
        box=None,
        pad_edge=False,
        padding=(0, GAP, 0, 0),
        header_style="bold underline",
        expand=width is not None,
    )
    number = len(section.titles) if width is None else _fitting(section, width)
    name, *others = section.titles[:number]
    more = f" {rows:,}/{section.known:,}" if section.known > rows else ""
    drawn.add_column(f"{name}{more}", no_wrap=True, ratio=None if width is None else 1)
    for title in others:
        right = title not in _TEXTS
        drawn.add_column(
            title,
            no_wrap=True,
            justify="right" if right else "left",
            max_width=None if width is None else WIDEST,
        )
    for row in section.rows[:rows]:
        drawn.add_row(*row[:number])
    return drawn


_TEXTS: Final = ("", "holder", "kind", "queues", "reader", "slowest", "source", "state")


def _fitting(section: Section, width: int) -> int:
    """How many columns there is room for, the name included."""
    left, number = width - NARROWEST_NAME, 1
    for i, title in enumerate(section.titles[1:], 1):
        cells: Iterable[str] = (title, *(row[i].plain for row in section.rows))
        left -= GAP + min(WIDEST, max(map(cell_len, cells)))
        if left < 0:
            break
        number += 1
    return number


def _line(text: Text) -> Text:
    """On one line, whatever is left out."""
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _height(part: RenderableType) -> int:
    return part.row_count + 1 if isinstance(part, Table) else 1
