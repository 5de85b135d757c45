"""Tests of what needs the interpreter lock, which free-threaded Python does not have."""

from __future__ import annotations

import pytest

from holdfast.core.concurrency.thread_frames import has_gil

needs_gil = pytest.mark.skipif(not has_gil(), reason="only Python with the GIL does this")
