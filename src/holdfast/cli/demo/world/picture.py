"""The world as one sees it: a line for each part, and what was killed."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from .world import World

LEFT_WIDTH = 9


def drawn(world: World) -> RenderableType:
    """The whole screen."""
    rows = Table.grid(padding=(0, 2), expand=True)
    rows.add_column(style="dim", width=LEFT_WIDTH, no_wrap=True)
    rows.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    rows.add_row("time", _time(world))
    for part in world.parts:
        rows.add_row(part.name, Text(part.told()))
    if world.struck:
        rows.add_row("killed", Text(", ".join(world.struck), "yellow"))
    return Padding(Group(Text(world.link, "cyan", overflow="fold"), "", rows), (1, 2))


def told(world: World) -> str:
    """How far it is, on a line."""
    if world.finishing:
        return f"  {world.elapsed_s:5.1f} s  coming to an end: {world.finishing}"
    killed = f", killed: {', '.join(world.struck)}" if world.struck else ""
    return f"  {world.elapsed_s:5.1f} s of {world.ground.seconds:g}{killed}"


def _time(world: World) -> RenderableType:
    if world.finishing:
        return Text(f"over; coming to an end: {world.finishing}")
    bar = Table.grid(padding=(0, 2), expand=True)
    bar.add_column(ratio=1)
    bar.add_column(justify="right", no_wrap=True)
    seconds = world.ground.seconds
    left = f"{world.elapsed_s:.0f} s of {seconds:g}; Ctrl-C ends it"
    bar.add_row(ProgressBar(seconds, world.elapsed_s, complete_style="cyan"), left)
    return bar
