"""Define the parts of a screen: pages and actions.

**A screen** is one module in `screens/` and one template for each page in `templates/`:

- The module has a `SCREEN`: its title, its group in the navigation, its pages and its actions.
- A `Page` has a path such as `queues` or `queue`, which is also the name of its template, and a
  function `async def show(view: PageRequest) -> dict`. The dict is the JSON form of the page and
  the context of the template, so it contains values, never HTML. `view.text`, `view.number` and
  `view.choice` read the query and refuse values out of range. A page with a table may have a
  `csv_table`. `page_of` cuts a list of names into pages.
- An `Action` has a path such as `queue/pause` and a function
  `async def do(action: ActionRequest) -> ActionResult`. It is a POST for operators, and the audit
  log records it. `action.text` and `action.texts` read the form. Pass `op_id=action.op_id` to each
  write.
- The template extends `layout.html` and fills the block `live`. It uses `link("queue", name=…)` for
  links, and macros of `parts.html`: `act` for forms, `pages` for lists, and `empty` for an empty
  list with the code that fills it. Do not mark anything as safe. Do not use the attributes `style`
  and `on…`, because the content security policy of the page forbids both.
- `screens/__init__.py` registers the screen for the navigation and for the tests of all routes.

A page costs at most 20 pipelined round trips, and the cost of a command must not grow with the
data. So use public listings with a limit, and show at most 500 items.
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
    """Defines a page. All visitors may see it.

    Attributes:
        path: the path below the dashboard, such as `queue`; also the name of the template.
        show: reads the content of the page.
        csv_table: converts the content to a table; None: the page has no CSV form.
    """

    path: str
    show: Show
    csv_table: Callable[[dict[str, Any]], CsvTable] | None = None

    @property
    def template(self) -> str:
        """Return the file name of the template."""
        return f"{self.path or 'overview'}.html"


@dataclass(frozen=True, slots=True)
class Action:
    """Defines an action. Only operators may do it.

    Attributes:
        path: the path below the dashboard, such as `queue/pause`.
        do: does the action.
    """

    path: str
    do: Do


@dataclass(frozen=True, slots=True)
class DashboardScreen:
    """Defines a screen, which is one entry of the navigation.

    Attributes:
        title: the text of the entry.
        group: the title of the group that contains the entry; empty for the overview.
        pages: the pages of the screen. The entry leads to the first one.
        actions: the actions of these pages.
    """

    title: str
    group: str
    pages: tuple[Page, ...]
    actions: tuple[Action, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """Return the paths of all pages of the screen."""
        return frozenset(page.path for page in self.pages)
