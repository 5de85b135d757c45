"""The parts of a screen: pages and actions.

**A screen** is one module in `screens/` and one template for each page in `templates/`:

- The module has a `SCREEN`: its title, its group in the navigation, its pages and its actions.
- A `Page` has a path such as `queues` or `queue`, which is also the name of its template, and a
  function `async def show(view: PageRequest) -> dict`. The dict is the JSON form of the page and
  the context of the template, so it contains values, never HTML. All filters are in the query;
  `view.text`, `view.number` and `view.choice` read them and refuse values out of range. A page
  that is a table may have a `csv_table`; `page_of` cuts a list of names into pages.
- An `Action` has a path such as `queue/pause` and a function
  `async def do(action: ActionRequest) -> ActionResult`. It is a POST for operators, and it is
  recorded in the audit log. `action.text` and `action.texts` read the form, and each write takes
  `op_id=action.op_id`.
- The template extends `layout.html`, fills the block `live`, and takes shared parts from
  `parts.html`: `link("queue", name=…)` for links, `act` for forms, `pages` for lists, `empty` for
  an empty list with the code that fills it. Nothing is marked safe. No attribute `style` or `on…`
  is used: the policy of the page forbids both.
- `screens/__init__.py` registers it for the navigation and for the tests of all routes.

A page costs at most 20 pipelined round trips, and no command has a cost that grows with the data:
use public listings with a limit, and show at most 500 items.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .action_request import ActionRequest, ActionResult
from .csv_table import CsvTable
from .page_request import PageRequest

Show = Callable[[PageRequest], Awaitable[dict[str, Any]]]
Do = Callable[[ActionRequest], Awaitable[ActionResult]]


@dataclass(frozen=True, slots=True)
class Page:
    """One page, for viewers.

    Attributes:
        path: below the dashboard, such as `queue`; also the name of its template.
        show: returns the content.
        csv_table: returns the content as a table; None if it is not one.
    """

    path: str
    show: Show
    csv_table: Callable[[dict[str, Any]], CsvTable] | None = None

    @property
    def template(self) -> str:
        """Return the file name of its template."""
        return f"{self.path or 'overview'}.html"


@dataclass(frozen=True, slots=True)
class Action:
    """One action, for operators.

    Attributes:
        path: below the dashboard, such as `queue/pause`.
        do: does it.
    """

    path: str
    do: Do


@dataclass(frozen=True, slots=True)
class DashboardScreen:
    """One entry of the navigation.

    Attributes:
        title: its text.
        group: the entries that it stands with.
        pages: the entry leads to the first one.
        actions: of its pages.
    """

    title: str
    group: str
    pages: tuple[Page, ...]
    actions: tuple[Action, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """Return the paths of its pages."""
        return frozenset(page.path for page in self.pages)
