"""Take the pictures of README and docs from the running demo; `make pictures`.

It writes `docs/pictures`: the overview in both themes, some screens, a phone, and `demo.svg`, a
recording of the terminal. It needs Chromium, and a few minutes: charts need data.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, sync_playwright
from recording import Frame, animation
from terminal import Terminal

PICTURES: Final = Path(__file__).resolve().parents[2] / "docs" / "pictures"
COLUMNS: Final = 100
ROWS: Final = 16
LINK: Final = re.compile(r"http://localhost:\d+/\w+")
START_S: Final = 120.0

RECORDED_S: Final = 24
"""Seconds of the demo that the recording shows, at twice the speed."""

DESK: Final = (1280, 860)
PHONE: Final = (390, 844)
PROGRAMS: Final = ("chromium-headless-shell", "chromium", "google-chrome")
SCREENS: Final = {
    "queue": "queue?name=email",
    "failures": "failures",
    "chats": "chats",
    "rows": "rows",
    "feeds": "feeds",
}


class RecordedDemo:
    """The demo in a terminal of its own."""

    def __init__(self) -> None:
        self.terminal = Terminal(COLUMNS)
        self._pid, self._output = pty.fork()
        if self._pid == 0:
            size = {"COLUMNS": str(COLUMNS), "LINES": "40", "TERM": "xterm-256color"}
            command = [sys.executable, "-m", "holdfast", "demo", "--seconds", "1200"]
            os.execve(sys.executable, command, {**os.environ, **size})  # noqa: S606

    def run(self, seconds: float) -> str:
        """Let the demo run, and return what it has printed meanwhile."""
        printed, ends = "", time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            if select.select([self._output], [], [], left)[0]:
                try:
                    printed += os.read(self._output, 1 << 16).decode(errors="ignore")
                except OSError:  # it has ended
                    break
        self.terminal.feed(printed)
        return printed

    def link(self) -> str:
        """Return the link to the dashboard; wait until it is printed."""
        printed, ends = "", time.monotonic() + START_S
        while time.monotonic() < ends:
            printed += self.run(0.5)
            if found := LINK.search(printed):
                return found[0]
        raise SystemExit(f"the demo printed no link: {printed}")

    def frames(self, seconds: int) -> list[Frame]:
        """Return a frame for each second."""
        frames = []
        for _ in range(seconds):
            self.run(1.0)
            frames.append(Frame(0.5, self.terminal.lines(ROWS)))
        return frames

    def stop(self) -> None:
        """End the demo as Ctrl-C does, and wait for its summary."""
        os.kill(self._pid, signal.SIGINT)
        self.run(30.0)
        os.waitpid(self._pid, 0)


def take(browser: Browser, link: str, scheme: Literal["light", "dark"]) -> None:
    """Take the overview, and in the light theme the other screens and a phone."""
    sizes = {"": DESK} | ({"-phone": PHONE} if scheme == "light" else {})
    for name, (width, height) in sizes.items():
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        page = context.new_page()
        page.goto(link)
        page.locator(".uplot canvas").wait_for()
        page.screenshot(path=PICTURES / f"dashboard-{scheme}{name}.png")
        home = page.url.split("#")[0]
        for screen, path in SCREENS.items() if name == "" and scheme == "light" else ():
            page.goto(f"{home}{path}")
            page.locator("h1").wait_for()
            page.screenshot(path=PICTURES / f"{screen}.png")
        context.close()


def main() -> None:
    """Record the demo, and take pictures of the dashboard."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wait", type=float, default=180.0, help="seconds until the screens")
    wait_s = parser.parse_args().wait
    PICTURES.mkdir(exist_ok=True)
    demo = RecordedDemo()
    try:
        link = demo.link()
        frames = demo.frames(RECORDED_S)
        demo.run(wait_s)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=next(filter(None, map(shutil.which, PROGRAMS)), None),
                args=["--no-sandbox"],
            )
            take(browser, link, "light")
            take(browser, link, "dark")
            browser.close()
    finally:
        demo.stop()
    frames.append(Frame(6.0, demo.terminal.lines(ROWS)))
    title = "holdfast demo: a game, a garage and a shop on one server, with their figures"
    svg = animation(frames, columns=COLUMNS, title=title)
    (PICTURES / "demo.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
