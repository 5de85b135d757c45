"""`holdfast idempotency`: list stores of answers, show what a key holds, and free it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

from ..inspect.formats import counted, duration
from .confirm import Yes, confirm
from .connection import argument_errors, fail, with_client
from .exit_codes import NOT_FOUND
from .options import argument, option
from .output import AsJson, field_table, print_block, print_json, print_line
from .resources import Resource, group, list_command

if TYPE_CHECKING:
    from .. import Holdfast

Store = Annotated[str, argument("STORE", "The store, such as `payments`.")]
Key = Annotated[str, argument("KEY", "The idempotency key that the caller sent.")]
User = Annotated[str, option("USER", "The owner of the key, as the application gives it.")]

STORES: Final = Resource[str](
    noun="store",
    key="store",
    names=lambda hf: hf.idempotency_stores(),
    read=lambda _hf, name: name,
    columns={},
    as_json=lambda _name: {},
    recent="used last",
)

app: Final = group(
    "idempotency",
    "List stores of idempotency keys; show what a key holds, and free it.",
    list_command("List the stores in which calls began in the last month.", STORES),
)


@app.command("show", example="holdfast idempotency show http order-17 --user ann")
@with_client()
def show_call(
    hf: Holdfast, store: Store, key: Key, user: User = "", as_json: AsJson = False
) -> None:
    """Show whether the call under a key runs or is done, and when the key is free.

    The server has no list of keys, because callers choose them.
    """
    with argument_errors():
        status = hf.idempotency(store).status(key, user=user)
    if status is None:
        fail(f"the key {key!r}{_of(user)} is free in store {store!r}", code=NOT_FOUND)
    if as_json:
        print_json({"store": store, "key": key, "user": user}, asdict(status))
        return
    lines = [("store", store), ("key", key), ("user", user or "none"), ("state", status.state)]
    if status.state == "done":
        lines.append(("answer", counted(status.answer_bytes, "byte")))
    lines += [("free in", duration(status.free_in)), ("fingerprint", status.fingerprint)]
    print_block(field_table(lines))


@app.command(example="holdfast idempotency forget http order-17 --user ann")
@with_client()
def forget(hf: Holdfast, store: Store, key: Key, user: User = "", yes: Yes = False) -> None:
    """Free a key, so that the next call with it runs again."""
    what = f"the call under key {key!r}{_of(user)} in store {store!r}"
    confirm(f"forget {what}, so that it may run again", yes=yes)
    with argument_errors():
        found = hf.idempotency(store).forget(key, user=user)
    print_line(f"{what} is forgotten" if found else f"there is none: {what}")


def _of(user: str) -> str:
    return f" of user {user!r}" if user else ""
