"""Cut a list of names into pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .page_request import PageRequest

PAGE_SIZE: Final = 50
"""Names on one page by default."""

MAX_NAMES: Final = 10_000
"""How many names of queues the server keeps at most; the same for chats and so on. A page reads all
of them to search them."""


def page_of(
    view: PageRequest, names: Sequence[str], *, size: int = PAGE_SIZE
) -> tuple[Sequence[str], dict[str, Any]]:
    """Return the names on the requested page, and values for the page links of the template.

    Args:
        view: the request. Its parameter `q` is a text that the names must contain, and `page` is
            the number of the page.
        names: all names, in the order of the list.
        size: names on one page.
    """
    search, page = view.text("q"), view.number("page", 1)
    found = [name for name in names if search.lower() in name.lower()]
    where = {"search": search, "page": page, "size": size, "total": len(found)}
    where |= {"all": len(names), "remembered": MAX_NAMES}
    return found[(page - 1) * size : page * size], where
