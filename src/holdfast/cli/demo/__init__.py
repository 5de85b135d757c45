"""`holdfast demo`: what Holdfast does, on real data, without any preparation."""

from __future__ import annotations

from ..help import Commands
from .chat import command as chat
from .logs.command import logs
from .mail import mail
from .market import command
from .sale import sale
from .traffic.command import traffic

app = Commands(help="See Holdfast at work.", no_args_is_help=True)
app.command("chat")(chat.chat)
app.command("logs")(logs)
app.command("mail")(mail)
app.command("market")(command.market)
app.command("sale")(sale)
app.command("traffic")(traffic)


@app.callback()
def demo() -> None:
    """See Holdfast at work."""
