"""A real browser for the tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from web.running import RunningApp

PATIENCE_MS = 60_000

NARROW = {"width": 320, "height": 640}
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1200, "height": 800}

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
"""Browsers to test with; the first one starts fastest and draws no window."""

expect.set_options(timeout=PATIENCE_MS)


def chromium() -> str:
    """Return the browser to test with: `$HOLDFAST_TEST_BROWSER`, or one on the PATH."""
    named = os.environ.get("HOLDFAST_TEST_BROWSER")
    found = named or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        pytest.skip(f"no browser: run `apt install {PROGRAMS[0]}`, or set HOLDFAST_TEST_BROWSER")
    return found


@contextmanager
def launched() -> Iterator[Browser]:
    """Launch a browser, and close it at the end of the context."""
    with sync_playwright() as playwright:
        thrifty = ["--no-sandbox", "--renderer-process-limit=1", "--disable-gpu"]
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=thrifty, timeout=PATIENCE_MS
        )
        yield browser
        browser.close()


Tab = Callable[..., Page]
"""Function that opens a page of the dashboard with a given role."""


def visit(page: Page, live: RunningApp, path: str) -> None:
    """Open a page of the dashboard."""
    page.goto(f"{live.url}/dashboard/{path}")
