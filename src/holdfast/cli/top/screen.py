"""Draw the screen of `holdfast top`: as much of a snapshot as fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...inspect.formats import counted, utc
from ..output import printable
from .sections import VIEWS, Section, sections, server_lines, totals_line
from .snapshot import TopSnapshot

WIDEST: Final = 32
"""Characters of a cell at most, except in the column of names."""

NARROWEST_NAME: Final = 18
"""Characters of the column of names at least. On a narrow screen, other columns are left out."""

GAP: Final = 2

SERVERS: Final = 3
"""How many servers to show, because a cluster may have hundreds."""

HELP: Final = "tab next   p pause   q quit"


@dataclass(slots=True)
class TopScreen:
    """Holds what the screen shows, and draws it.

    Attributes:
        server: name of the server.
        every_s: seconds between two snapshots.
        view: which sections are shown.
        snapshot: the last snapshot; None: there is none yet.
        problem: why no later snapshot could be read; empty if there is no problem.
        paused: whether the user has paused the updates.
        keys: whether there is a keyboard.
    """

    server: str
    every_s: float
    view: str = next(iter(VIEWS))
    snapshot: TopSnapshot | None = None
    problem: str = ""
    paused: bool = False
    keys: bool = False

    def choose(self, view: str | None = None) -> None:
        """Show *view*, or the next one."""
        views = list(VIEWS)
        self.view = view or views[(views.index(self.view) + 1) % len(views)]

    def draw(self, width: int, height: int) -> RenderableType:
        """Return the screen for a terminal with *width* columns and *height* rows."""
        lines = [*self._head(), *([self._problem()] if self.problem else [])]
        height -= len(lines) + self.keys
        body = list(self._body(width, height))
        if self.keys:
            body += [Text()] * (height - sum(map(_height, body))) + [self._foot()]
        return Group(*lines, *body)

    def _head(self) -> Iterator[Text]:
        found = self.snapshot
        at = f"{utc(found.survey.at)} UTC" if found else "no data yet"
        title = Text.assemble(
            ("holdfast top", "bold"),
            f"   {printable(found.survey.namespace) if found else ''}",
            f"   {printable(self.server)}   {at}, every {self.every_s:g} s",
        )
        if self.paused:
            title = Text.assemble(("paused", "bold reverse yellow"), "   ", title)
        yield _line(title)
        if found:
            servers = [printable(line) for line in server_lines(found)]
            yield from (_line(Text(line)) for line in servers[:SERVERS])
            if len(servers) > SERVERS:
                yield _line(Text(f"and {counted(len(servers) - SERVERS, 'server')} more", "dim"))
            yield _line(Text(totals_line(found)))

    def _problem(self) -> Text:
        return _line(Text(f" {printable(self.problem)}; trying again ", "bold reverse red"))

    def _body(self, width: int, height: int) -> Iterator[RenderableType]:
        if self.snapshot is None:
            return
        found = sections(self.snapshot, self.view)
        if not found:
            what = "nothing" if self.view == "all" else f"nothing of {self.view}"
            yield _line(Text(f"{what} in use in this namespace", "dim"))
            return
        rows = share_rows([len(section.rows) for section in found], height)
        used = sum(n + 1 for n in rows if n)
        airy = height - used >= sum(n > 0 for n in rows)
        for section, n in zip(found, rows, strict=True):
            if n:
                if airy:
                    yield Text()
                yield section_table(section, n, width)

    def _foot(self) -> Text:
        foot = Text()
        for number, view in enumerate(VIEWS, 1):
            foot.append(f" {number} {view} ", "reverse" if view == self.view else "")
        return _line(foot.append(f"   {HELP}", "dim"))


def plain_parts(snapshot: TopSnapshot, server: str, width: int | None) -> Iterator[RenderableType]:
    """Yield the whole *snapshot* as texts and tables; see `section_table` for *width*."""
    found = snapshot.survey
    yield Text(f"{printable(found.namespace)}   {printable(server)}   {utc(found.at)} UTC")
    for line in server_lines(snapshot):
        yield Text(printable(line))
    yield Text(totals_line(snapshot))
    for section in sections(snapshot, "all"):
        yield Text()
        yield section_table(section, len(section.rows), width)


def share_rows(wanted: Sequence[int], height: int) -> list[int]:
    """Return how many rows each section gets in *height* lines; *wanted* has the rows of each.

    Give each section one row in turn. The first row of a section also takes a line for the title.
    """
    given = [0] * len(wanted)
    while True:
        before = height
        for i, want in enumerate(wanted):
            cost = 1 if given[i] else 2
            if given[i] < want and cost <= height:
                given[i] += 1
                height -= cost
        if height == before:
            return given


def section_table(section: Section, rows: int, width: int | None = None) -> Table:
    """Return a table with the first *rows* rows of a section, for *width* columns of a terminal.

    If *width* is None, each cell is as wide as its text.
    """
    drawn = Table(
        box=None,
        pad_edge=False,
        padding=(0, GAP, 0, 0),
        header_style="bold underline",
        expand=width is not None,
    )
    number = len(section.titles) if width is None else _columns_that_fit(section, width)
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


def _columns_that_fit(section: Section, width: int) -> int:
    """Return how many columns fit, the name included."""
    left, number = width - NARROWEST_NAME, 1
    for i, title in enumerate(section.titles[1:], 1):
        cells: Iterable[str] = (title, *(row[i].plain for row in section.rows))
        left -= GAP + min(WIDEST, max(map(cell_len, cells)))
        if left < 0:
            break
        number += 1
    return number


def _line(text: Text) -> Text:
    """Return *text*, cut to one line."""
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _height(part: RenderableType) -> int:
    return part.row_count + 1 if isinstance(part, Table) else 1
