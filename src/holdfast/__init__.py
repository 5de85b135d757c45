"""Holdfast: application building blocks on Valkey and Redis.

Import all public names from this package. `Holdfast` is the blocking client, and `AsyncHoldfast`
has the same methods for asyncio. Each name is loaded when it is first used, so that a program loads
only what it uses. Type checkers read `__init__.pyi`.
"""

from __future__ import annotations

from .exports import EXPORTS, lazily
from .version import __version__ as __version__

__all__ = sorted([*EXPORTS, "__version__"])  # noqa: PLE0605 (type checkers read the stub)
__getattr__ = lazily(__name__, EXPORTS, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
