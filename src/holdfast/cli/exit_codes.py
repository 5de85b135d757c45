"""Define the exit codes of all commands."""

from __future__ import annotations

from typing import Final

FAILED: Final = 1
WRONG_USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4

WARNED: Final = 5
"""`doctor` and `fsck` found a warning."""

WRONG: Final = 6
"""`doctor` and `fsck` found an error."""

INTERRUPTED: Final = 130
"""128 + SIGINT, as shells report it."""

# `locks run` and `locks wait` also use the codes of env(1), timeout(1) and the shell.

LOST: Final = 123
"""The lease of the lock was lost while the command ran under it."""

TIMED_OUT: Final = 124
"""The lock was not free in time."""

UNABLE: Final = 125
"""The server cannot be used, so the command was not started."""

NOT_EXECUTABLE: Final = 126
NO_COMMAND: Final = 127

SIGNALLED: Final = 128
"""The command was killed by a signal: add the number of the signal."""
