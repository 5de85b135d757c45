"""Where demos put what they need."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def room() -> Iterator[Path]:
    """Where the demo puts everything that it needs; its path is short, as that of sockets."""
    folder = Path(tempfile.mkdtemp(prefix="room-")).resolve()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
