"""Serve scripts, styles and the icon under paths that contain a hash of their content."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ..problems import Problem

MEDIA: Final = {
    "dashboard.js": "text/javascript",
    "dashboard.css": "text/css",
    "icon.svg": "image/svg+xml",
    "vendor/htmx.min.js": "text/javascript",
    "vendor/uPlot.iife.min.js": "text/javascript",
    "vendor/uPlot.min.css": "text/css",
}

_FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}


def asset_path(name: str) -> str:
    """Return the path of the asset *name* below the dashboard."""
    return f"assets/{_hash(name)}/{name}"


async def asset(request: Request) -> Response:
    """Return the asset that the path names, if the path has the current hash of its content."""
    name = request.path_params["name"]
    if name not in MEDIA or request.path_params["hash"] != _hash(name):
        raise Problem("not-found", "the asset does not exist or has changed: load the page again")
    return Response(_content(name), media_type=MEDIA[name], headers=_FOR_EVER)


@cache
def _content(name: str) -> bytes:
    return resources.files(__package__).joinpath("static", name).read_bytes()


@cache
def _hash(name: str) -> str:
    return hashlib.sha256(_content(name)).hexdigest()[:12]
