"""Report tasks to Sentry (extra `sentry`)."""

from __future__ import annotations

from typing import Final

try:
    from .middleware import SentryMiddleware
except ModuleNotFoundError as _missing:
    if (_missing.name or "").partition(".")[0] != "sentry_sdk":
        raise
    raise ModuleNotFoundError(
        "holdfast.sentry needs an extra: install `holdfast[sentry]` from where you got Holdfast",
        name=_missing.name,
    ) from None

__all__: Final = ["SentryMiddleware"]
