"""What is published: the wheel, the source archive, and their description; see `make dist`."""

import email
import re
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from project.sources import ROOT

sys.path.append(str(ROOT / "tools"))

import distribution


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Build both archives twice; fails if the builds differ."""
    return distribution.built_twice(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(archives: list[Path]) -> Path:
    return next(path for path in archives if path.suffix == ".whl")


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as whole:
        [name] = [name for name in whole.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(whole.read(name))


def test_two_builds_are_identical(archives: list[Path]) -> None:
    """From two copies of the source; the files of one have other times."""
    assert [path.suffix for path in archives] == [".whl", ".gz"]


def test_a_wheel_has_no_tests_and_no_other_packages(wheel: Path, tmp_path: Path) -> None:
    assert distribution.strangers(wheel) == []
    other = tmp_path / "other.whl"
    with zipfile.ZipFile(other, "w") as whole:
        for name in ("holdfast/a.py", "holdfast/tests/b.py", "tests/c.py", "holdfast/test_d.py"):
            whole.writestr(name, "")
    assert len(distribution.strangers(other)) == 3


def test_the_source_archive_has_what_its_tests_need(archives: list[Path]) -> None:
    with tarfile.open(archives[1]) as whole:
        names = {name.partition("/")[2] for name in whole.getnames()}
    needed = ["README.md", "SECURITY.md", "Makefile", "mkdocs.yml", ".ci/run", "tests/conftest.py"]
    needed += [".github/workflows/ci.yml", "tools/unasync.py", "deploy/Dockerfile", "CITATION.cff"]
    assert [name for name in needed if name not in names] == []
    assert [name for name in names if name.startswith((".venv", "site/", "dist/"))] == []


def test_what_the_index_shows(metadata: Message) -> None:
    assert metadata["Author"] == "The Holdfast authors"
    assert metadata["License-Expression"] == "MIT"
    labels = {line.partition(",")[0] for line in metadata.get_all("Project-URL", [])}
    assert labels == {"Documentation", "Changelog", "Source", "Issues", "Security"}
    text = metadata.get_payload()
    assert isinstance(text, str)
    links = re.findall(r'\]\(([^)#]+)|(?:src|srcset)="([^"]+)"', text)
    assert [link for pair in links for link in pair if link and "://" not in link] == []


def test_a_release_has_to_be_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = distribution.release_problems("v0.0.0")
    assert problems[0].startswith("the tag is v0.0.0, but the version is ")
    assert problems[-1] == "pyproject.toml still has the placeholder holdfast.example"
