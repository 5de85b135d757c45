"""Exit codes of `run` and `wait` beside the usual ones, chosen as other such commands do."""

from __future__ import annotations

from typing import Final

LOST: Final = 123
"""The lease was lost while the command ran."""

TIMED_OUT: Final = 124
"""It was not free in time; as timeout(1)."""

UNABLE: Final = 125
"""The server cannot be used, so the command was not begun; as env(1) and timeout(1)."""

NOT_EXECUTABLE: Final = 126
"""As in a shell."""

NO_COMMAND: Final = 127
"""As in a shell."""

SIGNALLED: Final = 128
"""Plus the number of the signal; as in a shell."""
