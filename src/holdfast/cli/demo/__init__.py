"""`holdfast demo`: what Holdfast does, on real data, without any preparation."""

from __future__ import annotations

from ..help import Commands
from .chat.command import chat
from .logs.command import logs
from .mail.command import mail
from .market.command import market
from .sale.command import sale
from .traffic.command import traffic

app = Commands(help="See Holdfast at work.", no_args_is_help=True)
for command in (chat, logs, mail, market, sale, traffic):
    app.command()(command)


@app.callback()
def demo() -> None:
    """See Holdfast at work."""
