"""Types that cannot be stored are refused when a task is registered, or when it is first used."""

from __future__ import annotations

import abc
import asyncio
import collections
import enum
import io
import types
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import (
    IO,
    Annotated,
    Any,
    Generic,
    NamedTuple,
    NewType,
    Protocol,
    SupportsInt,
    TypedDict,
    TypeVar,
)
from uuid import UUID

import msgspec
import pytest

from holdfast import DecodeError, Task, TaskRegistry


class Session:
    """What an application opens for each task."""


class Name(str):
    """A kind of text that msgspec does not store."""

    __slots__ = ()


class Moment(datetime):
    """A kind of instant that msgspec does not store."""


class Shape(abc.ABC):
    """Its subclasses may be dataclasses."""

    @abc.abstractmethod
    def area(self) -> float: ...


class Mixed(enum.Enum):
    """Its values have two types."""

    RED = 1
    BLUE = "b"


class Ratio(enum.Enum):
    """Its values are neither texts nor whole numbers."""

    HALF = 0.5


class HasName(Protocol):
    name: str


@dataclass
class Order:
    item: str
    session: Session


@dataclass
class Node:
    value: int
    children: list[Node]


class Sale(msgspec.Struct):
    order: Order


class Row(TypedDict):
    session: Session


class Pair(NamedTuple):
    first: int
    second: Session


T = TypeVar("T")


class Box(Generic[T]):
    """A generic class that cannot be stored."""


SessionId = NewType("SessionId", Session)


def taking(kind: Any, **options: Any) -> Task[..., Any]:
    """Return a task with one parameter `x` of a type."""

    def work(x: Any) -> None: ...

    work.__annotations__ = {"x": kind}
    return TaskRegistry().task(**options)(work)


def returning(kind: Any, **options: Any) -> Task[..., Any]:
    """Return a task with a result of a type."""

    def work() -> Any: ...

    work.__annotations__ = {"return": kind}
    return TaskRegistry().task(**options)(work)


REFUSED = [
    (Session, "is a Session.*make it a dataclass"),
    (Session | None, "contains a Session"),
    (list[Session], "contains a Session"),
    (dict[str, tuple[int, Session]], "contains a Session"),
    (dict[Pair, int], "contains a Pair.*list of pairs"),
    (list[dict[tuple[int, str], int]], "contains a tuple.*list of pairs"),
    (Mapping[frozenset[int], int], "contains a frozenset.*list of pairs"),
    (Iterable[Session], "contains a Session"),
    (Annotated[Session, "of the request"], "is a Session"),
    (SessionId, "is a Session"),
    (Order, "contains a Session"),
    (Sale, "contains a Session"),
    (Row, "contains a Session"),
    (Pair, "contains a Session"),
    (Box[int], "is a Box|contains a Box"),
    (Session | Path, "contains a Session"),
    (Path, "pass it as a str"),
    (Mixed, "is a Mixed.*all texts, or all whole numbers"),
    (list[Ratio], "contains a Ratio.*all texts, or all whole numbers"),
    (io.BytesIO, "pass the path, or the content"),
    (IO[str], "pass the path, or the content"),
    (Callable, "pass its name"),
    (Callable[[], int], "pass its name"),
    (type, "pass its name"),
    (type[int], "pass its name"),
    (Iterator[int], "pass a list"),
    (Generator[int, None, None], "pass a list"),
    (collections.deque[int], "pass a list"),
    (range, "pass a list"),
    (Awaitable[int], "cannot be stored"),
    (complex, "pass two floats"),
    (Name, "use str itself"),
    (Moment, "use datetime itself"),
    (asyncio.Event, "cannot be stored"),
    (Exception, "cannot be stored"),
    (types.ModuleType, "cannot be stored"),
]

ACCEPTED = [
    *(Any, object, None, int, bytes, bytearray, memoryview, set[int], Node, msgspec.Raw),
    *(Hashable, Iterable[int], SupportsInt, HasName, Shape, list[Shape], T, str | Path),
    *(collections.OrderedDict[str, int], collections.Counter[str], dict, list, tuple),
    *(dict[datetime, int], dict[int | str, int], Mapping[UUID, list[str]]),
    *(datetime | int, list[int] | set[int], type(None)),
]


@pytest.mark.parametrize(("kind", "problem"), REFUSED, ids=lambda each: str(each)[:50])
def test_what_cannot_be_stored_is_refused_with_a_hint(kind: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=rf"^task 'work': parameter 'x' .*({problem})"):
        taking(kind)
    with pytest.raises(TypeError, match=rf"^task 'work': the result .*({problem}).*result_ttl=0"):
        returning(kind)


@pytest.mark.parametrize("kind", ACCEPTED, ids=lambda each: str(each)[:50])
def test_what_may_be_stored_is_accepted(kind: Any) -> None:
    taking(kind)
    returning(kind)


def test_a_parameter_with_a_default_may_be_anything() -> None:
    @TaskRegistry().task()
    def work(n: int, session: Session = Session(), *, file: IO[str] | None = None) -> None: ...  # noqa: B008

    assert work.converted([1], {}) == ((1,), {})


def test_results_that_are_not_kept_may_be_anything() -> None:
    assert returning(Session, result_ttl=0).returns is Any


def test_variadic_parameters_are_checked_as_well() -> None:
    with pytest.raises(TypeError, match="parameter 'sessions' contains a Session"):

        @TaskRegistry().task()
        def work(*sessions: Session) -> None: ...

    with pytest.raises(TypeError, match="parameter 'named' contains a Session"):

        @TaskRegistry().task()
        def other(**named: Session) -> None: ...


def test_parameters_without_annotation_are_accepted() -> None:
    @TaskRegistry().task()
    def work(a, *b, c=1, **d):  # type: ignore[no-untyped-def]
        return a, b, c, d

    work.call(1, 2, c=3, e=4)


def later(source: str, **names: Any) -> Task[..., Any]:
    """Return the task `work` of a module in which *names* are defined after it."""
    module = types.ModuleType("later")
    exec(source, vars(module))
    task: Task[..., Any] = TaskRegistry().task()(module.work)
    vars(module).update(names)
    return task


def test_a_class_that_is_defined_later_is_checked_at_the_first_call() -> None:
    task = later("def work(x: 'Later'): ...", Later=Session)
    with pytest.raises(TypeError, match="parameter 'x' is a Session"):
        task.call(1)
    with pytest.raises(TypeError, match="parameter 'x' is a Session"):
        task.call(1)


def test_a_worker_refuses_a_class_that_is_defined_later() -> None:
    task = later("def work(x: 'Later'): ...", Later=Session)
    with pytest.raises(DecodeError, match="parameter 'x' is a Session"):
        task.converted([1], {})


def test_a_result_that_is_defined_later_is_checked_at_the_first_call() -> None:
    task = later("def work() -> 'Later': ...", Later=Session)
    with pytest.raises(TypeError, match="the result is a Session"):
        task.call()
    assert later("def work() -> 'Later': ...", Later=Node).call().returns is Node


def test_a_field_that_is_defined_later_is_found() -> None:
    source = """
from __future__ import annotations
from dataclasses import dataclass
@dataclass
class Order:
    sale: Sale
def work(order: Order) -> None: ...
"""

    @dataclass
    class Sale:
        price: int

    module = types.ModuleType("later")
    module.__dict__["__name__"] = "later_fields"
    import sys

    sys.modules["later_fields"] = module
    exec(source, vars(module))
    task: Task[..., Any] = TaskRegistry().task()(module.work)
    vars(module)["Sale"] = Sale
    [order], _ = task.converted([{"sale": {"price": 97}}], {})
    assert order == module.Order(Sale(97))
    del sys.modules["later_fields"]


def test_an_annotation_that_stays_unreadable_is_left_to_the_task() -> None:
    task = later("def work(x: 'Never') -> 'int +': ...")
    assert task.converted(["text"], {}) == (("text",), {})
    assert task.call(1).returns is Any
