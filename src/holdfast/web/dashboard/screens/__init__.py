"""Register all screens, in the order of the navigation."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from ..screen import DashboardScreen
from . import (
    chats,
    completions,
    counters,
    failures,
    files,
    functions,
    groups,
    limits,
    locks,
    mailboxes,
    overview,
    queues,
    rows,
    schedules,
    server,
    tallies,
    tasks,
    workers,
)

SCREENS: Final[tuple[DashboardScreen, ...]] = (
    overview.SCREEN,
    queues.SCREEN,
    tasks.SCREEN,
    schedules.SCREEN,
    groups.SCREEN,
    failures.SCREEN,
    limits.SCREEN,
    workers.SCREEN,
    locks.SCREEN,
    mailboxes.SCREEN,
    chats.SCREEN,
    counters.SCREEN,
    completions.SCREEN,
    functions.SCREEN,
    rows.SCREEN,
    files.SCREEN,
    tallies.SCREEN,
    server.SCREEN,
)
"""All screens. Add a new screen next to the other screens of its group."""

GROUPS: Final = [
    (group, list(screens)) for group, screens in groupby(SCREENS, lambda screen: screen.group)
]
"""The groups of the navigation: the title of each, and its screens."""

PATHS: Final = frozenset(page.path for screen in SCREENS for page in screen.pages)
"""The paths of all pages, below the dashboard."""
