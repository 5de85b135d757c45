# Generated from _async/resume_point.py by tools/unasync.py: edit that, then run `make sync`.
"""Find the offset up to which a file is counted."""

from __future__ import annotations

from typing import Final

from ..position import FilePosition, numbered_id
from .source_file import ChangingFile, SourceFile
from .writer import TallyWriter

FIRST_CANDIDATES: Final = 16
"""Number of files with the same id that the first step looks up."""

MORE_CANDIDATES: Final = 64
"""Number of files that each later step looks up, while files are found."""


def resume_point(writer: TallyWriter, file: SourceFile) -> tuple[str, int]:
    """Return the id of a file in the tally, and the offset up to which the file is counted.

    Several files may have had the same id, one after the other. The tally numbers them, and stores
    a mark of each. If a mark fits *file*, it is that file; otherwise it is a new file.
    """
    if not isinstance(file, ChangingFile):
        return file.id, writer.position(file.id)
    free_id, known = _known_files(writer, file.id)
    match = file.matching([position for _, position in known]) if known else None
    if match is None and file.unfinished_id != file.id:
        _, known = _known_files(writer, file.unfinished_id)
        match = file.matching([position for _, position in known]) if known else None
    return (free_id, 0) if match is None else (known[match][0], known[match][1].offset)


def _known_files(writer: TallyWriter, file_id: str) -> tuple[str, list[tuple[str, FilePosition]]]:
    """Look up the files that have or had the id *file_id* in the file system, which uses it again.

    The tally stores each under an id of its own, see `numbered_id`.

    Returns:
        The first numbered id that the tally does not know, for a new file; and numbered id and
        position of each file that it knows.
    """
    known: list[tuple[str, FilePosition]] = []
    free_id, first, number, found = "", 0, FIRST_CANDIDATES, 1
    while found:
        ids = [numbered_id(file_id, n) for n in range(first, first + number)]
        positions = dict(zip(ids, writer.positions(ids), strict=True))
        free_id = free_id or next((each for each in ids if positions[each] is None), "")
        known += [(each, position) for each, position in positions.items() if position is not None]
        # Continue if the tally knows one of the last ids that were asked for. One unknown id does
        # not mean that there are no more files, because positions expire.
        found = sum(positions[each] is not None for each in ids[-number // 2 :])
        first, number = first + number, MORE_CANDIDATES
    return free_id, known
