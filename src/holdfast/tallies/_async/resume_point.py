"""Finds the offset from which a file is still to be counted."""

from __future__ import annotations

from typing import Final

from ..position import FilePosition, numbered_id
from .source_file import AsyncChangingFile, AsyncSourceFile
from .writer import AsyncTallyWriter

FIRST_CANDIDATES: Final = 16
"""Files with the same id that are looked up at first."""

MORE_CANDIDATES: Final = 64
"""Files that are looked up in each later step, as long as there are more."""


async def resume_point(writer: AsyncTallyWriter, file: AsyncSourceFile) -> tuple[str, int]:
    """Return the id under which the tally knows a file, and the offset up to which it is counted.

    Several files may have had the same id, one after the other. Their marks show which of them
    this file is. If no mark fits, it is a new file.
    """
    if not isinstance(file, AsyncChangingFile):
        return file.id, await writer.position(file.id)
    free_id, known = await _known_files(writer, file.id)
    match = await file.matching([position for _, position in known]) if known else None
    if match is None and file.unfinished_id != file.id:
        _, known = await _known_files(writer, file.unfinished_id)
        match = await file.matching([position for _, position in known]) if known else None
    return (free_id, 0) if match is None else (known[match][0], known[match][1].offset)


async def _known_files(
    writer: AsyncTallyWriter, file_id: str
) -> tuple[str, list[tuple[str, FilePosition]]]:
    """Return an unused id for a file with this id, and the ids and positions of known files."""
    known: list[tuple[str, FilePosition]] = []
    free_id, first, number, found = "", 0, FIRST_CANDIDATES, 1
    while found:
        ids = [numbered_id(file_id, n) for n in range(first, first + number)]
        positions = dict(zip(ids, await writer.positions(ids), strict=True))
        free_id = free_id or next((each for each in ids if positions[each] is None), "")
        known += [(each, position) for each, position in positions.items() if position is not None]
        # Positions expire, so there may be gaps between the numbers.
        found = sum(positions[each] is not None for each in ids[-number // 2 :])
        first, number = first + number, MORE_CANDIDATES
    return free_id, known
