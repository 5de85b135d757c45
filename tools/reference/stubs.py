"""The stubs `__init__.pyi` of the packages that load their public names lazily."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pages import SOURCE

from holdfast import testing
from holdfast.exports import EXPORTS

HEADER = "# Generated from {source} by tools/reference: edit that, then run `make sync`.\n"


def stubs() -> dict[Path, str]:
    """Return the text of each stub."""
    package = SOURCE / "holdfast"
    version = "from .version import __version__ as __version__\n"
    return {
        package / "__init__.pyi": _stub("exports.py", EXPORTS, version),
        package / "testing" / "__init__.pyi": _stub("__init__.py", testing.EXPORTS),
    }


def _stub(source: str, exports: Mapping[str, str], others: str = "") -> str:
    imports = [f"from .{module} import {name} as {name}\n" for name, module in exports.items()]
    return HEADER.format(source=source) + "".join(imports) + others
