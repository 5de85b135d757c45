"""The gateway on a real socket, in front of a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from conftest import Site
from web.browsers import launched
from web.running import RunningApp, opened


@pytest.fixture
def live(site: Site) -> Iterator[RunningApp]:
    """Serve a gateway with its default limits, in each topology."""
    with opened(site.url, site.namespace) as live:
        yield live


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Launch one browser per module: its event loop ends before other modules run."""
    with launched() as browser:
        yield browser
