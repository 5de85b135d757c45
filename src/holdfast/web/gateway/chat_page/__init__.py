"""Serve `/chat`, a page for trying the gateway, from files without a build step."""

from __future__ import annotations

from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...security_middleware import content_policy

MEDIA: Final = {
    "chat.js": "text/javascript",
    "stream.js": "text/javascript",
    "chat.css": "text/css",
    "icon.svg": "image/svg+xml",
}


async def _page(request: Request) -> Response:
    """Return the page with a new nonce: the browser runs only scripts with this nonce."""
    del request
    nonce, policy = content_policy()
    return Response(_file("chat.html").replace("{nonce}", nonce), 200, policy, "text/html")


async def _asset(request: Request) -> Response:
    name = request.url.path.rpartition("/")[2]
    return Response(_file(name), media_type=MEDIA[name])


def _file(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


ROUTES: Final = [
    Route("/chat", _page),
    *(Route(f"/chat/{name}", _asset) for name in MEDIA),
]
