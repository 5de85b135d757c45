"""Represent a request for a page: the visitor and the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request

from ... import AsyncHoldfast
from ..problems import Problem
from ..request_parsing import MAX_ITEMS, parse_number
from .access import Visitor
from .form_encoding import decoded_fields

C = TypeVar("C", bound=str)

MAX_TEXT_LENGTH: Final = 1000
"""Characters of one query parameter at most."""


@dataclass(slots=True)
class PageRequest:
    """Represents a request for a page.

    Attributes:
        hf: the client of the Valkey or Redis server.
        http: the HTTP request.
        visitor: the visitor who requests the page.
        arguments: whether the page may show arguments, bodies and rows.
        at: the time of the request.
        query: the query parameters. If a page chooses a default, it adds the default here, so that
            its links, forms and updates keep the choice.
    """

    hf: AsyncHoldfast
    http: Request
    visitor: Visitor
    arguments: bool = True
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    query: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.query = decoded_fields(self.http.query_params)

    @property
    def base(self) -> str:
        """Return the path at which the dashboard is mounted; empty if it is not mounted."""
        return base_of(self.http)

    @property
    def path(self) -> str:
        """Return the path of this page without a leading slash, query or `.json`."""
        return path_of(self.http)

    def text(self, param: str, default: str = "") -> str:
        """Return the query parameter *param*, at most `MAX_TEXT_LENGTH` characters."""
        given = self.query.get(param, default)
        if len(given) > MAX_TEXT_LENGTH:
            raise Problem("bad-request", f"{param} takes at most {MAX_TEXT_LENGTH:,} characters")
        return given

    def optional(self, param: str) -> str | None:
        """Return the query parameter *param*; None if it is absent, but '' if it is empty."""
        return self.text(param) if param in self.query else None

    def required(self, param: str) -> str:
        """Return the query parameter *param*. Raise a problem if it is absent."""
        if param not in self.query:
            raise Problem("bad-request", f"the query needs a parameter: ?{param}=…")
        return self.text(param)

    def number(self, param: str, default: int, *, least: int = 1, most: int = MAX_ITEMS) -> int:
        """Return the query parameter *param*, a number from *least* to *most*, or *default*."""
        given = self.query.get(param)
        return parse_number(given, param, least, most) if given else default

    def choice(self, param: str, options: Sequence[C]) -> C:
        """Return the query parameter *param*, one of *options*; the first one if it is absent."""
        given = self.query.get(param) or options[0]
        for option in options:
            if option == given:
                return option
        raise Problem("bad-request", f"{param} must be one of {', '.join(options)}")

    def link(self, path: str = "", **query: object) -> str:
        """Return the link to a page of the dashboard. Leave out parameters that are None."""
        return linked(self.base, path, **query)

    @property
    def back(self) -> str:
        """Return the path and query of this page, for a form that leads back here."""
        return linked("", self.path, **self.query)

    def here(self, **changed: object) -> str:
        """Return the link to this page with some parameters *changed*."""
        return self.link(self.path, **{**self.query, **changed})


def linked(base: str, path: str = "", **query: object) -> str:
    """Return *path* below *base* with a query. Leave out parameters that are None."""
    given = {key: value for key, value in query.items() if value is not None}
    return f"{base}/{path}" + (f"?{urlencode(given)}" if given else "")


def base_of(request: Request) -> str:
    """Return the path at which the application of *request* is mounted."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def path_of(request: Request) -> str:
    """Return the path of *request* in its application, without a leading slash or `.json`."""
    path = request.scope["path"].removeprefix(base_of(request))
    return str(path).strip("/").removesuffix(".json")
