"""The single demos, and all of them in one world."""

from __future__ import annotations

import typer

from ..commands import Commands
from ..connection import fail, on_command_line
from ..exit_codes import WRONG_USAGE
from .chat.command import chat
from .logs.command import logs
from .mail.command import mail
from .market.command import market
from .options import AsJson
from .sale.command import sale
from .traffic.command import traffic
from .world.command import Checked, Port, Seconds, Seed, world

HELP = """See Holdfast at work.

All demos in one world, on a server of its own: players trade, open pages and
write to guild mates, phones go through tunnels, a shop sells from PostgreSQL,
crawlers, mails and logs are on their way. It prints a link to the dashboard.
It ends by Ctrl-C, or after ten minutes; without a terminal after one.

With --check it takes a minute and no screen. Workers, consumers, a refresher
and the server are killed; in the end every promise is held against evidence
from elsewhere: exit code 1 if one was not kept.

With a command only this one demo, as below."""

app = Commands(help=HELP, invoke_without_command=True)
for command in (chat, logs, mail, market, sale, traffic):
    app.command()(command)


@app.callback(help=HELP)
def demo(
    ctx: typer.Context,
    seconds: Seconds = None,
    check: Checked = False,
    seed: Seed = None,
    port: Port = 0,
    as_json: AsJson = False,
) -> None:
    """Show the world, or check it; see HELP."""
    if ctx.invoked_subcommand is None:
        world(seconds=seconds, check=check, seed=seed, port=port, as_json=as_json)
    elif any(on_command_line(ctx, param) for param in ctx.params):
        fail("options come after the command: holdfast demo mail …", code=WRONG_USAGE)
