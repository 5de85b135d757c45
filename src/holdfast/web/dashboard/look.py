"""One look at a page: who looks, and what the query asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request

from ... import AsyncHoldfast
from ..problems import Problem
from ..visit import MOST_MESSAGES, whole
from .access import Visitor
from .exact import exact

C = TypeVar("C", bound=str)

MOST: Final = MOST_MESSAGES
"""Of anything on one page."""

LONGEST_TEXT: Final = 1000


@dataclass(slots=True)
class Look:
    """A page as somebody asks for it.

    Attributes:
        hf: where everything is.
        request: as it was sent.
        visitor: who looks.
        arguments: whether arguments, bodies and other contents may be shown.
        at: when.
        query: what it asks for. A page that chose something itself adds it here, so that its links,
            its forms and its next update keep that choice.
    """

    hf: AsyncHoldfast
    request: Request
    visitor: Visitor
    arguments: bool = True
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    query: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.query = exact(self.request.query_params)

    @property
    def base(self) -> str:
        """The path below which the dashboard is mounted; empty at the top."""
        return base_of(self.request)

    @property
    def path(self) -> str:
        """The path of this page, without its query; nothing in front, and no `.json`."""
        return path_of(self.request)

    def text(self, param: str, default: str = "") -> str:
        """A text in the query."""
        given = self.query.get(param, default)
        if len(given) > LONGEST_TEXT:
            raise Problem("bad-request", f"{param} takes at most {LONGEST_TEXT:,} characters")
        return given

    def maybe(self, param: str) -> str | None:
        """Return a text in the query, or None without one: an empty name is a name, too."""
        return self.text(param) if param in self.query else None

    def needed(self, param: str) -> str:
        """A text in the query, which must be there."""
        if param not in self.query:
            raise Problem("bad-request", f"say which: ?{param}=…")
        return self.text(param)

    def whole(self, param: str, default: int, *, least: int = 1, most: int = MOST) -> int:
        """A number in the query, *least* to *most*."""
        given = self.query.get(param)
        return whole(given, param, least, most) if given else default

    def choice(self, param: str, options: Sequence[C]) -> C:
        """One of *options* in the query, at first the first of them."""
        given = self.query.get(param) or options[0]
        for option in options:
            if option == given:
                return option
        raise Problem("bad-request", f"{param} is one of {', '.join(options)}")

    def link(self, path: str = "", **query: object) -> str:
        """Where a page of the dashboard is; what is None in the query is left out."""
        return linked(self.base, path, **query)

    @property
    def back(self) -> str:
        """This page as a form names it, to come back to after an action."""
        return linked("", self.path, **self.query)

    def here(self, **changed: object) -> str:
        """This page, with some of its query *changed*."""
        return self.link(self.path, **{**self.query, **changed})


def linked(base: str, path: str = "", **query: object) -> str:
    """*path* below *base*, with a query; what is None in it is left out."""
    given = {key: value for key, value in query.items() if value is not None}
    return f"{base}/{path}" + (f"?{urlencode(given)}" if given else "")


def base_of(request: Request) -> str:
    """The path below which the application is mounted that got *request*."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def path_of(request: Request) -> str:
    """What comes after that, without `/` in front and `.json` at its end."""
    path = request.scope["path"].removeprefix(base_of(request))
    return str(path).strip("/").removesuffix(".json")
