"""`holdfast logs`: send files to consumers, count their lines, and show the counts."""

from __future__ import annotations

from ..commands import Commands
from .feed import ls, retry, show_feed
from .send import send
from .tally import tally, top

app = Commands(
    name="logs",
    help="Send files to many consumers; count their lines by country, region and city.",
    no_args_is_help=True,
)
app.command("ls")(ls)
app.command("send")(send)
app.command("show")(show_feed)
app.command("retry")(retry)
app.command("tally")(tally)
app.command("top")(top)
