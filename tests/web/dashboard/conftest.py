"""A dashboard, and a browser that looks at it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from faults.servers import Server
from holdfast.web import Role
from web.browsers import DESK, PATIENCE_MS, Tab
from web.running import RunningApp, opened

EXPECTED = ("ERR_INTERNET_DISCONNECTED", "503 (Service Unavailable)", "htmx:")
"""Errors that a browser logs when a test takes something away."""


@pytest.fixture
def live(standalone: Server) -> Iterator[RunningApp]:
    """Serve a dashboard of an empty namespace."""
    with opened(standalone.url, f"dashboard-{secrets.token_hex(4)}") as live:
        yield live


@pytest.fixture
def tab(browser: Browser, live: RunningApp) -> Iterator[Tab]:
    """Open a tab that is logged in, and fail the test if the page reports an error.

    The tabs close before the dashboard: a page without its dashboard reports errors.
    """
    complaints: list[str] = []
    contexts: list[Any] = []

    def log_in(
        live: RunningApp, *, role: Role = "operator", heading: str = "Overview", **options: Any
    ) -> Page:
        context = browser.new_context(**{"viewport": DESK, **options})
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.on("console", lambda m: m.type == "error" and complaints.append(m.text))
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        page = context.new_page()
        page.goto(live.login(role))
        expect(page.locator("h1")).to_have_text(heading)
        return page

    yield log_in
    for context in contexts:
        context.close()
    assert [text for text in complaints if not any(each in text for each in EXPECTED)] == []
