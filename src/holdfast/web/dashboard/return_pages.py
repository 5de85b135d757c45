"""Choose the page to show after a login or an action. Allow only pages of this dashboard."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from ..security_middleware import SAFE_METHODS
from .action_request import Fields
from .page_request import base_of
from .screens import PATHS

START: Final = "/"

_PAGE: Final = re.compile(r"/([a-z/-]*)(\?[^\s#\\]*)?")


def checked_page(given: str) -> str:
    """Return *given* if it leads to a page of the dashboard; otherwise the overview."""
    found = _PAGE.fullmatch(given)
    return given if found and found[1] in PATHS else START


def return_page(fields: Fields) -> str:
    """Return the page that contains a form, from the field `back`; by default the overview."""
    return checked_page((fields.get("back") or [START])[0])


def requested_page(request: Request) -> str:
    """Return the page that *request* asks for. For an action, return the page with its form."""
    url = urlsplit(str(request.url))
    if request.method not in SAFE_METHODS:
        url = urlsplit(request.headers.get("referer", ""))
        if url.netloc.lower() != request.headers.get("host", "").lower():
            return START
    path = url.path.removeprefix(base_of(request)).strip("/").removesuffix(".csv")
    return checked_page(f"/{path}" + (f"?{url.query}" if url.query else ""))
