"""Missing extras: only a call that needs one fails, and its error names the extra to install."""

import subprocess
import sys
from pathlib import Path

import pytest

from faults.servers import Server

WITHOUT = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None  # to be imported it would have to be there
from pathlib import Path
from holdfast import Counted, GeoTable, Holdfast, LocalFiles
"""

FEED = """
folder = Path(sys.argv[3])
(folder / "a.log").write_bytes(b"a")
(folder / "b.zst").write_bytes(b"b")
with Holdfast.from_url(sys.argv[2], namespace=folder.name) as hf:
    feed = hf.file_feed("logs", consumers=["one"])
    found = feed.publish_dir(folder)
    print([file.name for file in found.files], *found.failed.items())
    try:
        feed.publish_dir(folder, compress="zstd")
    except ModuleNotFoundError as error:
        print(error)
    print(hf.tally("t").aggregate(LocalFiles(folder / "a.log"), key=lambda _: None).rejected)
"""

TABLES = """
for make in (lambda: GeoTable.from_mmdb("x"), lambda: GeoTable.from_geolite2_csv("x", "y")):
    try:
        make()
    except ModuleNotFoundError as error:
        print(error)
"""


def output(code: str, *args: str | Path) -> str:
    command = [sys.executable, "-c", WITHOUT + code, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_packed_file_is_reported_and_the_others_are_sent(
    standalone: Server, tmp_path: Path
) -> None:
    needs = (
        "this Python was built without Zstandard: use one that has the module `compression.zstd`"
        if sys.version_info >= (3, 14)
        else "Zstandard needs Python 3.14 or the extra: "
        "install `holdfast[zstd]` from where you got Holdfast"
    )
    missing = "backports,compression,polars,maxminddb"
    assert output(FEED, missing, standalone.url, tmp_path).splitlines() == [
        f"['a.log'] ('b.zst', ModuleNotFoundError({needs!r}))",
        needs,
        "1",
    ]


@pytest.mark.parametrize("missing", ["polars", "maxminddb,polars"])
def test_tables_of_places_say_what_they_need(missing: str) -> None:
    needs = "geo tables need an extra: install `holdfast[geo]` from where you got Holdfast"
    assert output(TABLES, missing).splitlines() == [needs, needs]
