"""The evening as one sees it: the counters read from the server, and what is being typed."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .... import Holdfast, Samples
from .evening import PAGES, Evening

SECONDS = 30
"""Of each line of bars."""

NAMES = 4


def drawn(hf: Holdfast, evening: Evening) -> RenderableType:
    """The whole screen."""
    pages = Table.grid(padding=(0, 2))
    pages.add_column(style="dim", width=10)
    pages.add_column(style="cyan", width=SECONDS)
    pages.add_column(justify="right", width=9)
    pages.add_column(style="dim")
    for page, samples in latest(hf).items():
        # The last second has just begun.
        whole = Samples(samples[:-1])
        rate = f"{sum(sample.value for sample in whole[-5:]) / 5:,.0f}"
        pages.add_row(page, whole.sparkline(), rate, "hits/s")
    looks = Table.grid(padding=(0, 2), expand=True)
    looks.add_column(style="dim", width=10, no_wrap=True)
    looks.add_column(width=6, no_wrap=True)
    looks.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    for look in list(evening.looks):
        names = ", ".join(look.found[:NAMES]) + (", …" if look.found[NAMES:] else "")
        looks.add_row(look.player, Text(look.typed, "bold"), Text(names or "nobody"))
    return Padding(Group(pages, "", looks, "", Text(told(evening), "dim")), (1, 2))


def latest(hf: Holdfast) -> Mapping[str, Samples]:
    """The last half minute of each page."""
    return {page: Samples(hf.counter(page).samples(1)[-SECONDS - 1 :]) for page in PAGES}


def told(evening: Evening) -> str:
    """How far it is, on a line."""
    return (
        f"{sum(evening.hits.values()):,} hits, {evening.searches:,} searches, "
        f"{len(evening.members):,} members, {sum(evening.mails.values()):,} mails, "
        f"{evening.refused:,} refused"
    )
