"""The day while it passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ....inspect.formats import counted
from .. import live
from ..bars import bars
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
    one, many = garage.mailboxes, garage.chats
    rows = (
        ("written", one.written + many.written, one.to_write + many.to_write, ""),
        ("one-to-one", one.delivered, one.to_deliver, " delivered"),
        ("group chats", many.delivered, many.to_deliver, " delivered"),
    )
    told = ((name, n, total, f"{n:,} of {total:,}{what}") for name, n, total, what in rows)
    return bars(told, names_width=LEFT_WIDTH)


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
