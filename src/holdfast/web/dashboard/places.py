"""Pages of the dashboard that a request names, to be led there: never anything elsewhere."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

from ..guard import SAFE_METHODS
from .deed import Fields
from .look import base_of
from .screens import PATHS

START: Final = "/"

_PAGE: Final = re.compile(r"/([a-z/-]*)(\?[^\s#\\]*)?")


def page_here(given: str) -> str:
    """Return *given* if it is a page of the dashboard with its query, otherwise its start."""
    found = _PAGE.fullmatch(given)
    return given if found and found[1] in PATHS else START


def way_back(fields: Fields) -> str:
    """Return the page that a form came from; the start if it names none."""
    return page_here((fields.get("back") or [START])[0])


def page_wanted(request: Request) -> str:
    """Return the page that *request* asks for; of an action, the page that its form is on."""
    url = urlsplit(str(request.url))
    if request.method not in SAFE_METHODS:
        url = urlsplit(request.headers.get("referer", ""))
        if url.netloc.lower() != request.headers.get("host", "").lower():
            return START
    path = url.path.removeprefix(base_of(request)).strip("/").removesuffix(".csv")
    return page_here(f"/{path}" + (f"?{url.query}" if url.query else ""))
