"""The counting as one sees it: how far it is, who does it, and what has come of it so far."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ....inspect.formats import size
from ...logs.top import count_table as chart
from ..bars import bars
from .counting import BUDGET, Counting

LEFT_WIDTH = 10


def drawn(counting: Counting) -> RenderableType:
    """The whole screen."""
    parts: list[RenderableType] = [_bars(counting), "", _counters(counting)]
    if counting.best:
        day = max(counting.days)
        parts += [
            "",
            Text(f"{day}, so far", "dim"),
            chart(counting.best, "country", counting.days[day]),
        ]
    return Padding(Group(*parts), (1, 2))


def told(counting: Counting) -> str:
    """How far it is, on a line."""
    killed = counting.counters.killed
    return (
        f"{size(counting.sent)} of {size(counting.size)} sent, {counting.counted:,} of "
        f"{counting.lines:,} lines counted{f', {killed} killed' if killed else ''}"
    )


def _bars(counting: Counting) -> Table:
    rows = (
        ("sent", counting.sent, counting.size, f"{size(counting.sent)} of {size(counting.size)}"),
        ("counted", counting.counted, counting.lines, f"{counting.counted:,} lines"),
        ("memory", counting.used, BUDGET, f"{size(counting.used)} of {size(BUDGET)}"),
    )
    return bars(rows, names_width=LEFT_WIDTH)


def _counters(counting: Counting) -> Table:
    """A line for each who counts."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", width=LEFT_WIDTH)
    rows.add_column(width=LEFT_WIDTH)
    rows.add_column(justify="right")
    rows.add_column(justify="right")
    for each in counting.consumers:
        killed = each.name == counting.counters.killed
        state = Text("× killed", "red") if killed else Text("● counts", "green")
        rows.add_row(each.name, state, f"{each.files} logs", size(each.bytes))
    return rows
