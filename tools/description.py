"""The description of the package: README.md with absolute links.

hatchling loads this file when it builds the package. Package indexes show the description without
the repository, so its links and pictures lead to the documentation site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES: Final = {"CONTRIBUTING.md": "contributing/", "CHANGELOG.md": "changes/"}
"""The pages of the site that are files of the repository; see `tools/documentation.py`."""


class Description(MetadataHookInterface):
    """Sets `readme` of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description from the README and the URL of the documentation."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        site = metadata["urls"]["Documentation"]
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, site)}


def absolute(text: str, site: str) -> str:
    """Return *text* with links and pictures that lead to *site*."""
    text = re.sub(r"\]\((?!https?:|#)([^)#]+)", lambda link: f"]({site}{_page(link[1])}", text)
    return re.sub(r'(src|srcset)="docs/', rf'\1="{site}', text)


def _page(path: str) -> str:
    """Return the address of a file of the repository within the site."""
    inside = path.removeprefix("docs/").removesuffix("README.md")
    is_file = "." in inside and not inside.endswith(".md")
    return PAGES.get(path) or inside.removesuffix(".md").rstrip("/") + ("" if is_file else "/")
