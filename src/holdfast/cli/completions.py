"""`holdfast completions`: list the sets of names that `complete` searches."""

from __future__ import annotations

from typing import Final

from .resources import Resource, group, list_command, show_command

COMPLETIONS: Final = Resource[int](
    noun="completions",
    plural="completions",
    key="completions",
    names=lambda hf: hf.known_completions(),
    read=lambda hf, name: hf.completions(name).count() or None,
    columns={"names": lambda count: f"{count:,}"},
    as_json=lambda count: {"names": count},
    rows=lambda count: [("names", f"{count:,}")],
    recent="added to last",
)

app: Final = group(
    "completions",
    "List the completions; `complete` searches them.",
    list_command("List the completions: how many names they have.", COMPLETIONS),
)
app.command("show", example="holdfast completions show guild:3")(
    show_command("Show one set of completions: how many names it has.", COMPLETIONS)
)
