"""Responses after an internal error show no traceback, no path, and no text of the error."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import Mount, Route

from holdfast import AsyncHoldfast
from holdfast.web import dashboard, gateway, metrics

CANARY = "canary of /srv/shop/secret.py"


class Broken:
    """Authenticator that always fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def user_of(self, token: str | None, connection: HTTPConnection) -> str | None:
        raise self._error

    async def visitor_of(self, token: str | None, connection: HTTPConnection) -> Any:
        raise self._error


@pytest.fixture(params=[RuntimeError, ValueError, KeyError])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client of a gateway, a dashboard and metrics that have a bug in their hooks."""
    broken = Broken(request.param(CANARY))
    async with AsyncHoldfast.from_url("redis://127.0.0.1:1") as hf:
        app = Starlette(
            routes=[
                Mount("/dashboard", dashboard(hf, access=broken)),
                Route("/metrics", metrics(hf, access=broken)),
                Mount("/", gateway(hf, authenticator=broken)),
            ]
        )
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client


@pytest.mark.sampled(5)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/mailbox"), ("POST", "/v1/mailboxes/jack"), ("GET", "/v1/chats"),
        ("GET", "/dashboard/queues"), ("GET", "/dashboard/queues.json"),
        ("POST", "/dashboard/queue/pause"), ("POST", "/dashboard/login"), ("GET", "/metrics"),
    ],
)  # fmt: skip
async def test_an_error_of_ours_is_not_shown(
    client: httpx.AsyncClient,
    caplog: pytest.LogCaptureFixture,
    method: str,
    path: str,
    accept: str,
) -> None:
    """The answer says that the log says why, and the log does."""
    headers = {"Accept": accept, "Sec-Fetch-Site": "same-origin"}
    with caplog.at_level(logging.ERROR):
        form = {"pass": "x"} if method == "POST" else None
        answer = await client.request(method, path, headers=headers, data=form)
    assert answer.status_code == 500, answer.text
    assert "the log says why" in answer.text
    for secret in (CANARY, "Traceback", ".py", "Error"):
        assert secret not in answer.text
    assert CANARY in caplog.text
