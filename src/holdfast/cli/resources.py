"""Build the commands `ls` and `show` for queues, locks and all other kinds of things."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, NoReturn, TypeVar

import typer
from rich.text import Text

from .commands import Commands
from .connection import Embedded, Namespace, Url, fail, on_command_line, with_client
from .exit_codes import NOT_FOUND, WRONG_USAGE
from .output import (
    AsJson,
    field_table,
    print_block,
    print_json,
    print_line,
    row_table,
    shown_name,
    warn,
)

if TYPE_CHECKING:
    from .. import Holdfast

LISTED: Final = 1_000
"""Queues, locks and so on that a list contains at most."""

S = TypeVar("S")

Row = tuple[str, str | Text]


@dataclass(frozen=True)
class Resource(Generic[S]):
    """Defines a kind of thing, such as a queue, that commands list and show.

    *S* is the type of its state.

    Attributes:
        noun: the word for one thing, such as `queue`.
        key: the JSON field with the name of the thing.
        names: reads the names that the server lists.
        read: reads the state of the thing with a name; returns None if it does not exist.
        columns: the columns of a list: title → function that returns the cell of a state.
        as_json: returns the JSON fields of a state.
        rows: returns the names and values that `show` prints for a state.
        plural: the plural of *noun*; empty: *noun* with an `s`.
        recent: which names a long list contains, such as `used last`.
        every: reads all states in one call; None: there is no such call.
        left: titles of left-aligned columns.
    """

    noun: str
    key: str
    names: Callable[[Holdfast], Iterable[str]]
    read: Callable[[Holdfast, str], S | None]
    columns: Mapping[str, Callable[[S], str | Text]]
    as_json: Callable[[S], dict[str, Any]] = asdict  # type: ignore[assignment]
    rows: Callable[[S], Iterable[Row]] = lambda _: ()
    plural: str = ""
    recent: str = "used last"
    every: Callable[[Holdfast], Mapping[str, S]] | None = None
    left: Sequence[str] = ()

    @property
    def nouns(self) -> str:
        """Return the plural of `noun`."""
        return self.plural or f"{self.noun}s"

    def read_all(self, hf: Holdfast) -> list[tuple[str, S]]:
        """Return the name and the state of all things that the server lists, sorted by name."""
        if self.every is not None:
            return sorted(self.every(hf).items(), key=lambda each: each[0])
        read = ((name, self.read(hf, name)) for name in sorted(self.names(hf)))
        return [(name, state) for name, state in read if state is not None]

    def find(self, hf: Holdfast, name: str) -> S:
        """Return the state of *name*; end the command if it does not exist."""
        state = self.read(hf, name)
        if state is None:
            self.not_found(hf, name)
        return state

    def not_found(self, hf: Holdfast, name: str) -> NoReturn:
        """End the command with the message that *name* does not exist, and with similar names."""
        where = f"in namespace {hf.namespace!r}"
        hint = similar(name, self.names(hf))
        fail(f"there is no {self.noun} {name!r} {where}{hint}", code=NOT_FOUND)

    def json_of(self, name: str, state: S) -> dict[str, Any]:
        """Return the object that `--json` prints for a thing."""
        return {self.key: name, **self.as_json(state)}


def similar(name: str, names: Iterable[str]) -> str:
    """Return a hint such as `; did you mean 'email'?`; empty if no name is similar to *name*."""
    close = " or ".join(map(repr, get_close_matches(name, list(names))))
    return f"; did you mean {close}?" if close else ""


def list_resources(
    hf: Holdfast, *resources: Resource[Any], as_json: bool, nothing: str = ""
) -> None:
    """Print all things of one or more kinds in one list, sorted by name.

    Args:
        hf: the client.
        resources: the kinds. They have the same columns.
        as_json: whether to print JSON instead of a table.
        nothing: the noun in the message for an empty list; by default the plural of the first kind.
    """
    found = [(each, each.read_all(hf)) for each in resources]
    lines = sorted(
        ((name, n, state) for n, (_, states) in enumerate(found) for name, state in states),
        key=lambda line: line[:2],
    )
    first = resources[0]
    if as_json:
        for name, n, state in lines:
            print_json(resources[n].json_of(name, state))
    elif lines:
        title = first.key
        cells = ((shown_name(name), *_cells(resources[n], state)) for name, n, state in lines)
        titles = (title, *first.columns)
        print_block(row_table(titles, cells, left=first.left))
    else:
        print_line(f"no {nothing or first.nouns} in namespace {hf.namespace}")
    for resource, states in found:
        if len(states) == LISTED:
            what = f"these are the {LISTED:,} {resource.nouns} that were {resource.recent}"
            warn(f"{what}; there may be more")


def _cells(resource: Resource[Any], state: Any) -> Iterator[str | Text]:
    return (cell(state) for cell in resource.columns.values())


def show_resource(hf: Holdfast, resource: Resource[Any], name: str, *, as_json: bool) -> None:
    """Print the thing *name* of the kind *resource*. End the command if it does not exist."""
    state = resource.find(hf, name)
    if as_json:
        print_json(resource.json_of(name, state))
    else:
        print_block(field_table([(resource.noun, shown_name(name)), *resource.rows(state)]))


def list_command(about: str, *resources: Resource[Any], nothing: str = "") -> Callable[..., None]:
    """Return the command `ls` for *resources* with the help text *about*."""

    @with_client()
    def ls(hf: Holdfast, as_json: AsJson = False) -> None:
        list_resources(hf, *resources, as_json=as_json, nothing=nothing)

    ls.__doc__ = about
    return ls


def show_command(about: str, resource: Resource[Any]) -> Callable[..., None]:
    """Return the command `show` for *resource* with the help text *about*."""

    def show(hf: Holdfast, name: str, as_json: AsJson = False) -> None:
        show_resource(hf, resource, name, as_json=as_json)

    argument = typer.Argument(metavar="NAME", help=f"The {resource.noun}.")
    show.__annotations__["name"] = Annotated[str, argument]
    show.__doc__ = about
    return with_client()(show)


def group(name: str, about: str, ls: Callable[..., None]) -> Commands:
    """Return the command group *name*. Its command `ls` runs if the user names no command."""
    about = f"{about} Without a command: ls."
    app = Commands(name=name, help=about, invoke_without_command=True)

    @app.callback(help=about)
    def by_default(
        ctx: typer.Context,
        url: Url = None,
        embedded: Embedded = None,
        namespace: Namespace = "holdfast",
        as_json: AsJson = False,
    ) -> None:
        command = ctx.invoked_subcommand
        if command is None:
            ls(url=url, embedded=embedded, namespace=namespace, as_json=as_json)
        elif any(on_command_line(ctx, param) for param in ctx.params):
            # Refuse options before the command: only those after the command have an effect.
            fail(f"options come after the command: holdfast {name} {command} …", code=WRONG_USAGE)

    app.command("ls", example=f"holdfast {name} ls")(ls)
    return app
