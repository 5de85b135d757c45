"""`holdfast demo`: what Holdfast does, on real data, without any preparation."""

from __future__ import annotations

import typer

from .mail import mail

app = typer.Typer(help="See Holdfast at work.", no_args_is_help=True)
app.command("mail")(mail)


@app.callback()
def demo() -> None:
    """See Holdfast at work."""
