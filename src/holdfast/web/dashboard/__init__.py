"""The dashboard: every block of one namespace, to look at and to operate, in a browser.

`dashboard(hf, …)` is an application of Starlette; `holdfast serve` mounts it at `/dashboard`.

**A screen** is one module in `screens/` and one template per page in `templates/`:

- The module has a `SCREEN`: its title, its group in the navigation, its pages and its actions.
- A `Page` has a path such as `queues` or `queue`, which is also the name of its template, and a
  function `async def show(look: Look) -> dict`. What it returns is the JSON twin of the page, and
  what the template shows; so it holds values, never HTML. All filters are in the query, and read by
  `look.text`, `look.whole` and `look.choice`, which refuse what is out of range. A page that is a
  table may have a `sheet`, a function of what it found, and is a CSV as well; `page_of` cuts a list
  of names into pages.
- An `Action` has a path such as `queue/pause` and a function `async def do(deed: Deed) -> Done`. It
  is a POST, for operators only, and audited; `deed.text` and `deed.texts` read the form, and each
  write takes `op_id=deed.op_id`.
- The template extends `layout.html`, fills the block `live`, and takes what several screens share
  from `parts.html`. Links are made by `link("queue", name=…)`, forms by `act`, lists by `pages`. An
  empty list shows the code that fills it (`empty`). Nothing is marked safe, and no attribute
  `style` or `on…` is used: the policy of the page forbids both.
- It is registered in `screens/__init__.py`, and thereby in the navigation and in the tests of
  all routes.

A page costs at most 20 pipelined round trips and no command that grows with what is stored: take
public listings with a limit, and show at most 500 of anything.
"""

from __future__ import annotations

from typing import Final

from .access import Access, Passes, Role, Visitor
from .app import dashboard

__all__: Final = ["Access", "Passes", "Role", "Visitor", "dashboard"]
