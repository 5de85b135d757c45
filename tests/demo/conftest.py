"""Fixtures of the demo tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def room() -> Iterator[Path]:
    """Yield the temporary folder of a demo; its path is short, as sockets need it."""
    folder = Path(tempfile.mkdtemp(prefix="room-")).resolve()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
