"""`holdfast logs`: send files to those who count them, count them, and look at the counts."""

from __future__ import annotations

from ..help import Commands
from . import tally, top
from .retry import retry
from .send import send
from .standing import show

app = Commands(
    name="logs",
    help="Send files to many consumers; count their lines by country, region and city.",
    no_args_is_help=True,
)
app.command("send")(send)
app.command("show")(show)
app.command("retry")(retry)
app.command("tally")(tally.tally)
app.command("top")(top.top)
