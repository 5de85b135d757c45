"""What a screen is made of: pages to look at, and actions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .deed import Deed, Done
from .look import Look
from .sheet import Sheet

Show = Callable[[Look], Awaitable[dict[str, Any]]]
Do = Callable[[Deed], Awaitable[Done]]


@dataclass(frozen=True, slots=True)
class Page:
    """One page, for viewers.

    Attributes:
        path: below the dashboard, such as `queue`; also the name of its template.
        show: what there is to see.
        sheet: that, as a table for spreadsheets; None: it is none.
    """

    path: str
    show: Show
    sheet: Callable[[dict[str, Any]], Sheet] | None = None

    @property
    def template(self) -> str:
        """The file that shows it."""
        return f"{self.path or 'overview'}.html"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that operators do.

    Attributes:
        path: below the dashboard, such as `queue/pause`.
        do: does it, and says what was done.
    """

    path: str
    do: Do


@dataclass(frozen=True, slots=True)
class Screen:
    """One entry of the navigation.

    Attributes:
        title: what it is called there.
        group: which entries it stands with.
        pages: the first one is what the entry leads to.
        actions: what can be done there.
    """

    title: str
    group: str
    pages: tuple[Page, ...]
    actions: tuple[Action, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """Those of its pages."""
        return frozenset(page.path for page in self.pages)
