"""`holdfast locks`: list locks and semaphores, wait for them, run commands under them."""

from __future__ import annotations

from typing import Final

from ..resources import group
from .run import run
from .show import ls, show_lock
from .wait import wait

app: Final = group("locks", "List locks of all kinds; run commands under them.", ls)
app.command("show", example="holdfast locks show nightly")(show_lock)
app.command("wait", example="holdfast locks wait nightly --timeout 60")(wait)
app.command("run", example="holdfast locks run nightly --timeout 60 -- ./backup --all")(run)
