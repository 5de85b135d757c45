"""The day while it passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ...output import counted
from .. import live
from ..live import Screen

OPENS_AT_H, HOURS = 7, 12  # of the day in fast motion
LEFT_WIDTH = 12
ONLINE, TUNNEL, KILLED = ("●", "green"), ("○", "yellow"), ("×", "red")


def screen_on(console: Console, garage: Any) -> Screen:
    """The screen that fits *console*; see `live.screen_on`."""
    return live.screen_on(
        console,
        drawn=lambda: drawn(garage),
        told=lambda: garage.told() if garage.elapsed_s else "",
    )


def drawn(garage: Any) -> RenderableType:
    """The whole screen."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", width=LEFT_WIDTH)
    rows.add_column()
    for name, row in _rows(garage):
        rows.add_row(name, row)
    return Padding(Group(_bars(garage), "", rows, "", _talk(garage)), (1, 2))


def _bars(garage: Any) -> Table:
    bars = Table.grid(padding=(0, 2), expand=True)
    bars.add_column(style="dim", width=LEFT_WIDTH)
    bars.add_column(ratio=1)
    bars.add_column(justify="right", no_wrap=True)
    one, many = garage.mailboxes, garage.chats
    for name, count, total in (
        ("written", one.written + many.written, one.to_write + many.to_write),
        ("one-to-one", one.delivered, one.to_deliver),
        ("group chats", many.delivered, many.to_deliver),
    ):
        bar = ProgressBar(total, count, complete_style="cyan", finished_style="green")
        what = "" if name == "written" else " delivered"
        bars.add_row(name, bar, f"{count:,} of {total:,}{what}")
    return bars


def _rows(garage: Any) -> Iterator[tuple[str, Text]]:
    accounts = garage.accounts.values()
    yield "time", Text(_clock(garage.elapsed_s, garage.day.seconds))
    yield "phones", _phones(garage)
    yield "", Text("   ").join(
        Text.assemble((sign, style), (f" {meaning}", "dim"))
        for (sign, style), meaning in (
            (ONLINE, "has signal"), (TUNNEL, "in a tunnel"), (KILLED, "process killed"),
        )
    )  # fmt: skip
    tunnels, kills = sum(account.tunnels for account in accounts), garage.kills
    yield (
        "cut off",
        Text(f"{counted(tunnels, 'time')} in a tunnel; processes killed: {kills:,}"),
    )
    unsure = sum(account.unsure for account in accounts)
    yield "unsure", _hinted(unsure, "sent without an answer: sent again under the same name")
    repeats = sum(account.repeats for account in accounts)
    yield "again", _hinted(repeats, "came twice: cut off before they were acknowledged")


def _hinted(number: int, hint: str) -> Text:
    return Text.assemble(f"{number:,} ", (hint, "dim italic"))


def _clock(elapsed_s: float, seconds: float) -> str:
    if elapsed_s > seconds:
        return f"{OPENS_AT_H + HOURS}:00, the day is over; some have to catch up"
    minutes = OPENS_AT_H * 60 + round(HOURS * 60 * elapsed_s / seconds)
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _phones(garage: Any) -> Text:
    """A sign for each."""
    down, signs = garage.down, Text()
    for user, account in garage.accounts.items():
        signs.append(*(KILLED if user in down else ONLINE if account.signal else TUNNEL))
    return signs


def _talk(garage: Any) -> Table:
    """What was written last, and how many of its readers have it already."""
    talk = Table.grid(padding=(0, 2), expand=True)
    talk.add_column(style="dim", width=LEFT_WIDTH, no_wrap=True, overflow="ellipsis")
    talk.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    talk.add_column(justify="right", no_wrap=True)
    for act in garage.said:
        readers = [user for user in garage.day.readers[act.to] if user != act.user]
        seq = garage.accounts[act.user].done[act.id]
        have = sum(seq in garage.accounts[user].got.get(act.to, ()) for user in readers)
        style = "green" if have == len(readers) else "yellow"
        told = Text(f"{have} of {len(readers)} have it", style)
        talk.add_row(
            f"to {act.to}" if act.kind == "whisper" else act.to, f"{act.user}: {act.text}", told
        )
    return talk
