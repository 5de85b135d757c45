"""Resources: what `ls` and `show` have in common for every kind of thing."""

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
    warn,
)

if TYPE_CHECKING:
    from .. import Holdfast

LISTED: Final = 1_000
"""Names of one kind that the server lists at most."""

S = TypeVar("S")

Row = tuple[str, str | Text]


@dataclass(frozen=True)
class Resource(Generic[S]):
    """A kind of thing that commands list and show; *S* is the state of one.

    Attributes:
        noun: of one, as in `queue`.
        key: of its name in JSON.
        names: reads the names that the server lists.
        read: reads the state of one; None: there is none of that name.
        columns: of a list: title → cell.
        as_json: the fields of a state.
        rows: what `show` prints.
        plural: of *noun*, unless it ends in `s`.
        recent: which ones a long list has, as in `used last`.
        every: reads all states, if one call does that.
        left: titles of columns that hold text.
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
        """Return the plural of the noun."""
        return self.plural or f"{self.noun}s"

    def read_all(self, hf: Holdfast) -> list[tuple[str, S]]:
        """Return name and state of each that the server lists, by name."""
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
        """End the command with the names that are like *name*."""
        where = f"in namespace {hf.namespace!r}"
        hint = similar(name, self.names(hf))
        fail(f"there is no {self.noun} {name!r} {where}{hint}", code=NOT_FOUND)

    def json_of(self, name: str, state: S) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {self.key: name, **self.as_json(state)}


def similar(name: str, names: Iterable[str]) -> str:
    """Return the end of a sentence, such as `; did you mean 'email'?`, or nothing."""
    close = " or ".join(map(repr, get_close_matches(name, list(names))))
    return f"; did you mean {close}?" if close else ""


def list_resources(
    hf: Holdfast, *resources: Resource[Any], as_json: bool, nothing: str = ""
) -> None:
    """Print all things of *resources*, which have the same columns, by name.

    Args:
        hf: the client.
        resources: one or more kinds.
        as_json: whether for scripts.
        nothing: what to call them if there are none.
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
        cells = ((name, *_cells(resources[n], state)) for name, n, state in lines)
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
    """Print one thing of *resource*; end the command if that name does not exist."""
    state = resource.find(hf, name)
    if as_json:
        print_json(resource.json_of(name, state))
    else:
        print_block(field_table([(resource.noun, name), *resource.rows(state)]))


def list_command(about: str, *resources: Resource[Any], nothing: str = "") -> Callable[..., None]:
    """Return the command `ls` of *resources*; *about* is its help."""

    @with_client()
    def ls(hf: Holdfast, as_json: AsJson = False) -> None:
        list_resources(hf, *resources, as_json=as_json, nothing=nothing)

    ls.__doc__ = about
    return ls


def show_command(about: str, resource: Resource[Any]) -> Callable[..., None]:
    """Return the command `show` of *resource*; *about* is its help."""

    def show(hf: Holdfast, name: str, as_json: AsJson = False) -> None:
        show_resource(hf, resource, name, as_json=as_json)

    argument = typer.Argument(metavar="NAME", help=f"The {resource.noun}.")
    show.__annotations__["name"] = Annotated[str, argument]
    show.__doc__ = about
    return with_client()(show)


def group(name: str, about: str, ls: Callable[..., None]) -> Commands:
    """Return the commands called *name*; *ls* is one of them, and runs if none is given."""
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
            # The command has options of its own, so these would be dropped silently.
            fail(f"options come after the command: holdfast {name} {command} …", code=WRONG_USAGE)

    app.command("ls")(ls)
    return app
