"""Paths of saved files: they are within the folder for every name."""

import hashlib
import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.files.partial_file import PartialFile
from holdfast.files.paths import PARTS, part_path, saved_path

FOLDER = Path("/nowhere/folder")

NAMES = [
    "", "/", "//", ".", "..", "../x", "a/../../b", "/etc/passwd", "a\0b", ":done", "C:\\x", "%2E",
    "x" * 300, "x" * 299 + "y", "%", "%%", ".holdfast/x", ".HOLDFAST", "a/./b", "a//b", "con",
    "/" * 1024, "../" * 341, "a/" * 512, "日" * 100, "not-\udcff-utf8", ".hidden", "a.log",
]  # fmt: skip


def test_each_name_has_a_place_of_its_own() -> None:
    paths = {saved_path(FOLDER, name) for name in NAMES}
    assert len(paths) == len(NAMES)
    for path in paths:
        assert path.is_relative_to(FOLDER)
        assert ".." not in path.parts
        assert path != FOLDER
        assert all(len(part.encode(errors="surrogateescape")) <= 255 for part in path.parts)
        assert path.relative_to(FOLDER).parts[0].casefold() != PARTS


def test_usual_names_stay_as_they_are() -> None:
    assert saved_path(FOLDER, "days/2011-10-10.log") == FOLDER / "days" / "2011-10-10.log"
    assert saved_path(FOLDER, ".hidden") == FOLDER / ".hidden"


@given(st.text("./%a\0", max_size=12), st.text("./%a\0", max_size=12))
def test_no_two_names_meet(one: str, other: str) -> None:
    assert (saved_path(FOLDER, one) == saved_path(FOLDER, other)) is (one == other)


def test_no_name_is_spelled_like_the_digest_of_another() -> None:
    for n in range(100):
        *_, part = saved_path(FOLDER, long := f"{n}{'x' * 300}").parts
        digest = hashlib.blake2b(long.encode(), digest_size=16).hexdigest()
        assert part.endswith(digest)
        for spelled in (f"%{digest}", chr(int(digest[:2], 16)) + digest[2:], f"%x{digest}"):
            for length in range(len(part) - 40, len(part)):
                assert saved_path(FOLDER, part[:length] + spelled) != FOLDER / part


def test_the_longest_names_are_saved(tmp_path: Path) -> None:
    for n, name in enumerate(["/" * 1024, "../" * 341, "a/" * 512, "\1" * 1024, "日/" * 256]):
        saving = PartialFile(tmp_path, name, str(n))
        saving.write([name.encode()])
        path = saving.finish()
        assert path.read_bytes() == name.encode()
        assert path.is_relative_to(tmp_path)


def test_a_link_does_not_lead_out(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    with pytest.raises(ValueError, match="a link leads there"):
        saved_path(folder, "out/x")


def test_a_link_does_not_lead_the_bytes_elsewhere(tmp_path: Path) -> None:
    folder, victim = tmp_path / "in", tmp_path / "victim"
    part = part_path(folder, "17-1")
    part.parent.mkdir(parents=True)
    victim.mkdir()
    (victim / part.name).write_bytes(b"precious")
    part.symlink_to(victim / part.name)
    with pytest.raises(OSError, match=re.escape(part.name)):
        PartialFile(folder, "a.log", "17-1")
    part.unlink()
    part.parent.rmdir()
    part.parent.symlink_to(victim)
    with pytest.raises(OSError, match=re.escape(PARTS)):
        PartialFile(folder, "a.log", "17-1")
    assert (victim / part.name).read_bytes() == b"precious"


def test_a_partial_file_is_private(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        saving = PartialFile(tmp_path, "a.log", "17-1")
        saving.write([b"x"])
        assert stat.S_IMODE((tmp_path / PARTS).stat().st_mode) == 0o700
        assert stat.S_IMODE(saving.finish().stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_parts_grow_in_a_folder_of_their_own() -> None:
    part = part_path(FOLDER, "17-1")
    assert part.parent == FOLDER / PARTS
    assert re.fullmatch(r"[0-9a-f]{32}\.part", part.name)
