"""`GET /metrics`: how everything of one namespace stands, for Prometheus.

`metrics(hf, …)` is an application of Starlette; `holdfast serve` serves it beside the dashboard. It
asks for the public listings that the dashboard shows, keeps nothing, and has few labels: of each
kind the names that have most to do, and one for all others together.
"""

from __future__ import annotations

from typing import Final

from .app import metrics

__all__: Final = ["metrics"]
