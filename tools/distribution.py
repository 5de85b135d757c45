"""Build the wheel and the source archive into dist/, check them, and write their SBOM.

    python tools/distribution.py [--release v1.2.3] [--test tests/core ...]

Both are built twice, from two copies of the source with other file times, and have to be identical.
The wheel is built from the source archive. The SBOM lists what the wheel installs. With `--test`
the source archive is unpacked and installed in an empty environment, and its tests run there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Final

from environments import PIP, ROOT, build, environment, run, unpack
from holdfast import __version__

PACKAGES: Final = {"holdfast", "holdfast_demo"}
PLACEHOLDER: Final = "holdfast.example"
OTHER_TIME: Final = 1_000_000_000
"""When the files of the second copy were changed, in seconds since 1970."""


def built_twice(folder: Path) -> list[Path]:
    """Build the archives twice, and return those of the first build.

    Raises:
        SystemExit: the two builds differ.
    """
    first, second = folder / "first", folder / "second"
    build(ROOT, first, "sdist")
    [archive] = first.glob("*.tar.gz")
    source = unpack(archive, folder / "unpacked")
    for path in source.rglob("*"):
        os.utime(path, (OTHER_TIME, OTHER_TIME))
    build(source, second, "sdist", "wheel")
    build(ROOT, first, "wheel")
    for path in sorted(first.iterdir()):
        if digest(path) != digest(second / path.name):
            raise SystemExit(f"two builds of {path.name} differ")
    return sorted(first.iterdir())


def digest(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def strangers(wheel: Path) -> list[str]:
    """Return files of a wheel that belong to no package, or that are tests."""
    names = zipfile.ZipFile(wheel).namelist()
    return [
        name
        for name in names
        if not (name.split("/")[0] in PACKAGES or ".dist-info/" in name)
        or "/tests/" in name
        or name.rpartition("/")[2].startswith(("test_", "conftest"))
    ]


def release_problems(tag: str) -> list[str]:
    """Return what has to be changed before the release with this tag."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    changes = (ROOT / "CHANGELOG.md").read_text()
    found = []
    if tag != f"v{__version__}":
        found.append(f"the tag is {tag}, but the version is {__version__}")
    if f"## [{__version__}] - 2" not in changes:
        found.append(f"CHANGELOG.md has no date for {__version__}")
    if any(PLACEHOLDER in address for address in project["urls"].values()):
        found.append(f"pyproject.toml still has the placeholder {PLACEHOLDER}")
    return found


def write_sbom(wheel: Path, folder: Path) -> Path:
    """Install a wheel in an empty environment, and list what is there."""
    inside = environment(sys.executable, folder / "sbom")
    run([inside, *PIP, str(wheel)])
    run([inside, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools"])
    path = wheel.with_name(f"holdfast-{__version__}.cdx.json")
    how = ["--output-reproducible", "--mc-type", "library", "--of", "JSON", "-o", str(path)]
    project = ["--pyproject", str(ROOT / "pyproject.toml")]
    run([sys.executable, "-m", "cyclonedx_py", "environment", *how, *project, inside])
    content = json.loads(path.read_text())
    content["metadata"]["component"]["version"] = __version__  # dynamic in pyproject.toml
    path.write_text(json.dumps(content, indent=2) + "\n")
    return path


def run_tests(archive: Path, tests: list[str], folder: Path) -> None:
    """Run tests of the source archive in an environment that has only what it asks for."""
    source = unpack(archive, folder / "tested")
    inside = environment(sys.executable, folder / "empty")
    run([inside, *PIP, f"{source}[all,test]"])
    run([inside, "-m", "pytest", "-q", "-n", "2", "-m", "not long", *tests], source)


def main() -> int:
    """Build and check, and copy what was built into dist/."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", metavar="TAG", help="fail unless all is ready for this tag")
    parser.add_argument("--test", nargs="+", default=[], help="tests of the source archive")
    given = parser.parse_args()
    if given.release and (problems := release_problems(given.release)):
        raise SystemExit("not ready for a release:\n" + "\n".join(problems))
    with tempfile.TemporaryDirectory(prefix="holdfast-dist-") as temporary:
        folder = Path(temporary)
        archives = built_twice(folder)
        [wheel] = [path for path in archives if path.suffix == ".whl"]
        [archive] = [path for path in archives if path.suffix == ".gz"]
        if found := strangers(wheel):
            raise SystemExit(f"the wheel has files that do not belong there: {found}")
        run([sys.executable, "-m", "twine", "check", "--strict", *map(str, archives)])
        sbom = write_sbom(wheel, folder)
        if given.test:
            run_tests(archive, given.test, folder)
        (ROOT / "dist").mkdir(exist_ok=True)
        for path in (wheel, archive, sbom):
            shutil.copy(path, ROOT / "dist")
            print(f"{digest(path)}  dist/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
