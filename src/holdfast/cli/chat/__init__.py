"""`holdfast chat`: list chats and mailboxes, write to them, follow them."""

from __future__ import annotations

from ..resources import group
from .explain import explain
from .send import send
from .show import ls, show_chat
from .tail import tail

app = group("chat", "List chats and mailboxes, write to them, and follow them.", ls)
app.command("show")(show_chat)
app.command("send")(send)
app.command("tail")(tail)
app.command("explain")(explain)
