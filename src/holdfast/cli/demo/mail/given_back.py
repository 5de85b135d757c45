"""Which mails workers gave back: they say so in their logs, and nothing else does.

A claim that is given back costs no attempt and leaves no mail. The worker's word comes before the
server is told, so it is there even if the worker is killed right after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_TOLD: Final = re.compile(
    rb" WARNING task (\S+) "
    rb"(?:of .*: it is stopped|of .* is given back: |did not end in time, given back)"
)


def given_back(logs: Iterable[Path]) -> set[str]:
    """The ids of these tasks.

    Args:
        logs: of workers; one that is not there says nothing.
    """
    return {
        found[1].decode()
        for log in logs
        if log.exists()
        for found in _TOLD.finditer(log.read_bytes())
    }
