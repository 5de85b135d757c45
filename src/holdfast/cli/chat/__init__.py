"""`holdfast chat`: look at chats and mailboxes, write to them, listen to them."""

from __future__ import annotations

from ..listing import listing
from .explain import explain
from .look import ls, show_one
from .talk import send, tail

app = listing("chat", "Look at chats and mailboxes, write to them, and listen.", ls)
app.command("show")(show_one)
app.command("send")(send)
app.command("tail")(tail)
app.command("explain")(explain)
