"""List all demos.

`holdfast_demo/__init__.py` does not import them, because this would slow down the start of each
child process.
"""

from __future__ import annotations

from .chat import ChatDemo
from .demo import Demo, DemoFailed
from .logs.tallying import LogsDemo
from .mail.evening import MailDemo
from .market.contest import MarketDemo
from .reports import ReportsDemo
from .runner import run
from .sale import SaleDemo
from .traffic import TrafficDemo
from .world import WorldDemo

DEMOS: tuple[type[Demo], ...] = (
    ChatDemo,
    LogsDemo,
    MailDemo,
    MarketDemo,
    ReportsDemo,
    SaleDemo,
    TrafficDemo,
)
"""The single demos; `WorldDemo` runs all of them at once."""

__all__ = ["DEMOS", "Demo", "DemoFailed", "WorldDemo", "run"]
