"""`holdfast locks`: look at locks and semaphores, wait for them, run commands under them."""

from __future__ import annotations

from ..listing import listing
from .look import ls, show_one
from .run import run
from .wait import wait

app = listing("locks", "Look at locks and semaphores; run commands under them.", ls)
app.command("show")(show_one)
app.command("wait")(wait)
app.command("run")(run)
