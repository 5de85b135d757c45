"""Compute the paths of saved files. No name leads out of the target folder."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

PARTS: Final = ".holdfast"
"""Name of the folder, inside the target folder, for files that are not complete."""

_LONGEST: Final = 200
"""Maximum bytes of one part of a path; most file systems allow 255."""

_LONGEST_PATH: Final = 2000
"""Maximum bytes of a path within the folder; most systems allow 4095 for the whole path."""

_ESCAPED: Final = re.compile(rb'[\x00-\x1f\x7f<>:"\\|?*%]')
"""Control characters, characters that Windows refuses, and `%`, the sign of an escape."""


def saved_path(folder: Path, name: str) -> Path:
    """Return the path for the file called *name*: always within *folder*, different for each name.

    - Slashes separate subfolders.
    - `..`, empty parts, and characters that a file system may refuse are percent-encoded.
    - The end of a part that is too long is replaced by a digest of the part.
    - A path that is too long is replaced by a digest of the name.

    Raises:
        ValueError: A link within the folder leads out of it.
    """
    *folders, last = name.split("/")
    parts = [_part(part, "%2F") for part in folders] + [_part(last, "%")]
    if len("/".join(parts).encode("utf-8", "surrogateescape")) > _LONGEST_PATH:
        parts = [_digest(name.encode("utf-8", "surrogateescape")).decode()]
    if parts[0].casefold() == PARTS:
        parts[0] = f"%2E{parts[0][1:]}"
    path = folder.joinpath(*parts)
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{str(path)!r} would be outside of {str(folder)!r}: a link leads there")
    return path


def part_path(folder: Path, file_id: str) -> Path:
    """Return the path at which an incomplete file is saved.

    The id is hashed, because it comes from the server and is not trusted.
    """
    digest = hashlib.blake2b(file_id.encode("utf-8", "surrogateescape"), digest_size=16)
    return folder / PARTS / f"{digest.hexdigest()}.part"


def _part(part: str, empty: str) -> str:
    raw = part.encode("utf-8", "surrogateescape")
    safe = _ESCAPED.sub(lambda found: b"%%%02X" % found[0][0], raw)
    if not safe:
        return empty
    if not safe.strip(b"."):
        safe = b"%2E" + safe[1:]
    if len(safe) > _LONGEST:
        digest = _digest(raw)
        safe = safe[: _LONGEST - len(digest)] + digest
    return safe.decode("utf-8", "surrogateescape")


def _digest(raw: bytes) -> bytes:
    """Return a digest with the prefix `%x`. No percent-encoded name contains `%x`, so the digest
    differs from all such names."""
    return b"%x" + hashlib.blake2b(raw, digest_size=16).hexdigest().encode()
