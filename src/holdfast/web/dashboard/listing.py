"""A page of a list of names: those that fit the search, so many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .look import Look

SIZE: Final = 50

REMEMBERED: Final = 10_000
"""Names of a kind that the server keeps; a list looks at all of them."""


def page_of(
    look: Look, names: Sequence[str], *, size: int = SIZE
) -> tuple[Sequence[str], dict[str, Any]]:
    """Those of *names* that are on the page that is asked for, and where in the list that is.

    Args:
        look: `q` in its query is what a name must have in it, `page` which page it is.
        names: all of them, in the order of the list.
        size: names on a page.
    """
    search, page = look.text("q"), look.whole("page", 1)
    found = [name for name in names if search.lower() in name.lower()]
    where = {"search": search, "page": page, "size": size, "total": len(found)}
    where |= {"all": len(names), "remembered": REMEMBERED}
    return found[(page - 1) * size : page * size], where
