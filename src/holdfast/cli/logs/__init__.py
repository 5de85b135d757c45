"""`holdfast logs`: send files to consumers, count their lines, and show the counts."""

from __future__ import annotations

from typing import Final

from ..commands import Commands
from .feed import ls, retry, show_feed
from .send import send
from .tally import tally, top

app: Final = Commands(
    name="logs",
    help="Send files to many consumers; count their lines by country, region and city.",
    no_args_is_help=True,
)
app.command("ls", example="holdfast logs ls")(ls)
app.command("send", example="holdfast logs send ./logs --feed access --to count --to archive")(send)
app.command("show", example="holdfast logs show --feed access")(show_feed)
app.command("retry", example="holdfast logs retry --feed access --consumer count")(retry)
app.command("tally", example="holdfast logs tally visits --from ./logs --geo GeoLite2-City.mmdb")(
    tally
)
app.command("top", example="holdfast logs top visits country --day 2011-10-10")(top)
