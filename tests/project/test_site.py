"""The documentation site and the description of the package: what `make docs` does not see."""

import re
import sys
import tomllib

import pytest

from project.sources import ROOT

sys.path.append(str(ROOT / "tools"))

from description import absolute

SITE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Documentation"]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_the_description_has_only_absolute_links() -> None:
    text = absolute((ROOT / "README.md").read_text(), SITE)
    targets = re.findall(r'\]\(([^)]+)\)|(?:src|srcset)="([^"]+)"', text)
    assert len(targets) > 30
    assert [each for pair in targets for each in pair if each and "://" not in each] == []


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("docs/tasks.md", "tasks/"),
        ("docs/tasks.md#enqueue", "tasks/#enqueue"),
        ("docs/reference/README.md", "reference/"),
        ("CONTRIBUTING.md", "contributing/"),
        ("CHANGELOG.md", "changes/"),
        ("docs/pictures/demo.svg", "pictures/demo.svg"),
    ],
)
def test_a_link_of_the_description(link: str, address: str) -> None:
    assert absolute(f"[a page]({link})", "https://x/") == f"[a page](https://x/{address})"


def test_every_page_is_in_the_navigation() -> None:
    """`make docs` fails otherwise; this says so without building the site."""
    navigation = (ROOT / "mkdocs.yml").read_text()
    names = [str(page.relative_to(ROOT / "docs")) for page in PAGES]
    assert [
        name
        for name in names
        if not re.search(rf"- (?:\w+: )?{re.escape(name)}$", navigation, re.MULTILINE)
    ] == []


def test_readme_and_index_list_the_same_blocks() -> None:
    """Each block once, with the same words."""
    readme, index = (
        re.findall(r"^\| \[.*", (ROOT / page).read_text().split(heading)[1], re.MULTILINE)
        for page, heading in (("README.md", "## The blocks"), ("docs/index.md", "## Which blocks"))
    )
    assert len(index) > 20
    assert [row.replace("](docs/", "](") for row in readme] == index


def test_the_tests_that_show_the_promises_exist() -> None:
    text = (ROOT / "docs" / "how-promises-are-kept.md").read_text()
    named = re.findall(r"`(tests/[\w/*]+(?:\.py|/))`", text)
    assert len(named) > 40
    assert [name for name in named if not list(ROOT.glob(name))] == []


def test_no_page_names_a_package_that_is_not_ours() -> None:
    """The package is not published, and another project has its name on PyPI."""
    pages = [ROOT / "README.md", *PAGES]
    lines = [line for page in pages for line in page.read_text().splitlines()]
    assert [line for line in lines if re.match(r"\s*pip install '?holdfast", line)] == []
