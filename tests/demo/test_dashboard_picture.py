"""The pictures of the README: the dashboard in a browser, light and dark, while the demo runs.

`HOLDFAST_TEST_PICTURES=docs/pictures` keeps them there, taken when there is more to see.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from faults.processes import Process
from faults.waiting import eventually
from web.browsers import launched

PATIENCE_S = 90.0
LATER_S = 300.0
SIZE = {"width": 1280, "height": 860}
LEAST_BYTES = 20_000
"""An empty page takes less."""

LINK = re.compile(r"http://localhost:\d+/\w+")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_dashboard_is_worth_a_picture(tmp_path: Path) -> None:
    """List all screens; show traffic on the overview."""
    kept = os.environ.get("HOLDFAST_TEST_PICTURES")
    folder = Path(kept) if kept else tmp_path
    folder.mkdir(exist_ok=True)
    with (
        Process.python("-m", "holdfast", "demo", "--seconds", "900", name="demo") as demo,
        launched() as browser,
    ):
        eventually(lambda: LINK.search(demo.output), PATIENCE_S, reason="a link is printed")
        time.sleep(LATER_S if kept else 0.0)
        for scheme in SCHEMES:
            picture = folder / f"dashboard-{scheme}.png"
            take(browser, LINK.findall(demo.output)[0], scheme, picture)
            assert picture.stat().st_size > LEAST_BYTES


def take(browser: Browser, link: str, scheme: Literal["light", "dark"], picture: Path) -> None:
    page = browser.new_page(viewport=SIZE, color_scheme=scheme)
    page.goto(link)
    expect(page.locator("h1")).to_have_text("Overview")
    expect(page.locator(".uplot canvas")).to_have_count(1)
    page.screenshot(path=picture)
    page.close()
