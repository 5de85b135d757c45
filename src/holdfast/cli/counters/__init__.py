"""`holdfast counters`: how often something happened, in the terminal."""

from __future__ import annotations

from ..listing import listing
from .look import ls, show_one

app = listing("counters", "Look at counters.", ls)
app.command("show")(show_one)
