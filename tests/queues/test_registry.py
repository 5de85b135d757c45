"""Tasks by name: checked against their signature when called, converted to it when run."""

from __future__ import annotations

import asyncio
import enum
import functools
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NewType, TypedDict
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta

from holdfast import DecodeError, Every, Retry, Schedule, Task, TaskRegistry, UnknownTask
from holdfast.core.codec import JSON

if TYPE_CHECKING:
    from pathlib import Path

UserId = NewType("UserId", int)


class Colour(enum.Enum):
    RED = "red"


class Sale(msgspec.Struct):
    item: str
    price: int


class Point(NamedTuple):
    x: int
    y: int


class Place(TypedDict):
    city: str


@dataclass
class Guild:
    name: str
    founded: date
    members: list[UserId]


class Opaque:
    """What JSON cannot become."""


@pytest.fixture
def tasks() -> TaskRegistry:
    return TaskRegistry()


def sent(task: Task[..., Any], *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments as they arrive after a round trip as JSON."""
    data = JSON.encode([args, kwargs])
    args_read, kwargs_read = JSON.decode(data)
    return task.converted(args_read, kwargs_read)


def taking(tasks: TaskRegistry, kind: Any) -> Task[..., Any]:
    """Return a task with one argument `x` of a type."""

    def function(x: Any) -> None: ...

    function.__annotations__ = {"x": kind}
    return tasks.task()(function)


# Registering


def test_a_task_is_known_by_the_name_of_its_function(tasks: TaskRegistry) -> None:
    @tasks.task()
    def double(n: int) -> int:
        """Twice as much."""
        return 2 * n

    assert tasks.get("double") is double
    assert double(4) == 8
    assert (double.name, double.queue, double.priority) == ("double", "default", "medium")
    assert double.retry == Retry()
    assert double.__doc__ == "Twice as much."
    assert double.__wrapped__ is double.function
    assert "double" in repr(double)


async def test_an_async_function_is_still_one(tasks: TaskRegistry) -> None:
    @tasks.task(queue="q", name="other", priority="high", retry=Retry(attempts=1))
    async def double(n: int) -> int:
        return 2 * n

    assert await double(4) == 8
    assert double.is_async
    assert (double.name, double.queue, double.priority) == ("other", "q", "high")
    assert double.retry == Retry(attempts=1)


def test_a_name_is_taken_once(tasks: TaskRegistry) -> None:
    @tasks.task(name="mail")
    def first() -> None: ...

    with pytest.raises(ValueError, match="a task named 'mail' is registered already"):

        @tasks.task(name="mail")
        def second() -> None: ...

    assert tasks.get("mail") is first
    assert len(tasks) == 1


def test_a_name_of_a_schedule_is_taken_once(tasks: TaskRegistry) -> None:
    """Two declarations of one name would replace each other whenever a worker starts."""

    @tasks.task(queue="a", schedule=Schedule(Every(60), name="hourly"))
    def first() -> None: ...

    text = "task 'first' declares a schedule named 'hourly' already: give the one of task '.*' ano"
    with pytest.raises(ValueError, match=text):

        @tasks.task(queue="b", schedule=Schedule(Every(3600), name="hourly"))
        def second() -> None: ...

    with pytest.raises(ValueError, match=text):

        @tasks.with_lifespan(None).task(queue="a", schedule=Every(3600))
        def hourly() -> None: ...

    with pytest.raises(ValueError, match="a task named 'first' is registered already"):

        @tasks.task(name="first", schedule=Schedule(Every(60), name="hourly"))
        def third() -> None: ...

    assert list(tasks) == [first]


def test_a_registry_lists_what_it_has(tasks: TaskRegistry) -> None:
    """Tasks and their queues, in the order of registration."""
    for name, queue in [("a", "email"), ("b", "default"), ("c", "email")]:
        tasks.task(name=name, queue=queue)(lambda: None)
    assert [task.name for task in tasks] == ["a", "b", "c"]
    assert tasks.queues() == ("email", "default")
    assert len(tasks) == 3


def test_registries_are_apart(tasks: TaskRegistry) -> None:
    tasks.task(name="mail")(lambda: None)
    with pytest.raises(UnknownTask, match="no task named 'mail'"):
        TaskRegistry().get("mail")


def test_a_wrong_priority_is_reported_where_it_is_given(tasks: TaskRegistry) -> None:
    with pytest.raises(ValueError, match="priority must be one of high, medium, low, got 'urgent'"):
        tasks.task(priority="urgent")  # type: ignore[arg-type]


def test_attributes_of_the_function_do_not_become_the_tasks(tasks: TaskRegistry) -> None:
    def function() -> None: ...

    vars(function).update(retry="theirs", queue="theirs", name="theirs", function="theirs")
    task = tasks.task(queue="mine", name="mine")(function)
    assert (task.retry, task.queue, task.name) == (Retry(), "mine", "mine")
    assert task.function is function


def test_a_generator_is_no_task(tasks: TaskRegistry) -> None:
    def function() -> Any:
        yield

    with pytest.raises(TypeError, match="generator"):
        tasks.task()(function)


def test_a_plain_decorator_of_an_async_function_is_plain(tasks: TaskRegistry) -> None:
    """It may run the function in a loop of its own, which the loop of a worker would not allow."""

    async def function() -> None: ...

    @functools.wraps(function)
    def wrapper() -> Any:
        return asyncio.run(function())

    assert tasks.task(name="inside")(function).is_async
    assert not tasks.task()(wrapper).is_async


def test_a_partial_function_with_a_name_is_a_task(tasks: TaskRegistry) -> None:
    """The name is given, so the function's own is not needed."""
    tasks.task(name="five")(functools.partial(pow, 5))
    with pytest.raises(TypeError, match="name="):
        tasks.task()(functools.partial(pow, 5))


# Calling


@pytest.mark.parametrize(
    ("args", "kwargs", "problem"),
    [
        ((), {}, "missing a required argument: 'seller'"),
        (("17",), {}, "missing a required.* argument: 'buyer'"),
        (("17", 1, 2), {"buyer": "27"}, "too many positional arguments"),
        (("17",), {"buyer": "27", "colour": "red"}, "unexpected keyword argument 'colour'"),
        (("17",), {"buyer": "27", "seller": "18"}, "multiple values for argument 'seller'"),
    ],
)
def test_arguments_are_checked_where_they_are_written(
    tasks: TaskRegistry, args: tuple[Any, ...], kwargs: dict[str, Any], problem: str
) -> None:
    @tasks.task()
    def mail(seller: str, price: int = 0, *, buyer: str) -> None: ...

    with pytest.raises(TypeError, match=f"^task 'mail': .*{problem}"):
        mail.call(*args, **kwargs)


def test_a_call_keeps_what_it_was_given(tasks: TaskRegistry) -> None:
    """Defaults are left to the worker, which may know better ones by then."""

    @tasks.task()
    def mail(seller: str, price: int = 0, *rest: int, **more: int) -> None: ...

    call = mail.call("17", more=1)
    assert (call.task, call.args, call.kwargs) == ("mail", ("17",), {"more": 1})
    assert mail.call("17", 1, 2, 3).args == ("17", 1, 2, 3)


# Converting

TRAVELLERS = [
    (int, 5),
    (float, 5.0),
    (str, "a"),
    (bool, True),
    (bytes, b"\x00\xff"),
    (datetime, datetime(2030, 1, 1, 12, tzinfo=UTC)),
    (date, date(2030, 1, 1)),
    (timedelta, timedelta(seconds=1.5)),
    (UUID, UUID(int=7)),
    (Decimal, Decimal("97.10")),
    (Colour, Colour.RED),
    (Sale, Sale("itemX", 97)),
    (Guild, Guild("north", date(2030, 1, 1), [UserId(1)])),
    (Point, Point(1, 2)),
    (Place, {"city": "Oslo"}),
    (UserId, UserId(7)),
    (Literal["a", "b"], "a"),
    (list[Sale], [Sale("itemX", 97)]),
    (set[int], {1, 2}),
    (frozenset[str], frozenset({"a"})),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2)),
    (dict[str, datetime], {"a": datetime(2030, 1, 1, tzinfo=UTC)}),
    (dict[UUID, int], {UUID(int=7): 1}),
    (Sequence[int], [1]),
    (Mapping[str, int], {"a": 1}),
    (int | None, None),
    (datetime | None, datetime(2030, 1, 1, tzinfo=UTC)),
    (Annotated[int, Meta(ge=0)], 5),
    (Any, [1, {"a": None}]),
    (object, "a"),
]


@pytest.mark.parametrize(("kind", "value"), TRAVELLERS, ids=lambda each: str(each)[:40])
def test_arguments_arrive_with_the_types_of_the_signature(
    tasks: TaskRegistry, kind: Any, value: Any
) -> None:
    task = taking(tasks, kind)
    for args, kwargs in (sent(task, value), sent(task, x=value)):
        [arrived] = [*args, *kwargs.values()]
        assert arrived == value
        assert type(arrived) is type(value)


@pytest.mark.parametrize("kind", [dict[int, str], dict[float, str], Mapping[int, str]], ids=str)
def test_keys_arrive_with_the_types_of_the_signature(tasks: TaskRegistry, kind: Any) -> None:
    """A call that was accepted must not become dead for its arguments."""
    assert sent(taking(tasks, kind), {1: "a"}) == (({1: "a"},), {})


def test_args_and_kwargs_are_converted_one_by_one(tasks: TaskRegistry) -> None:
    @tasks.task()
    def function(first: date, /, *days: date, factor: Decimal, **prices: Decimal) -> None: ...

    day = date(2030, 1, 1)
    args, kwargs = sent(function, day, day, day, factor=Decimal("1.5"), itemX=Decimal(97))
    assert args == (day, day, day)
    assert kwargs == {"factor": Decimal("1.5"), "itemX": Decimal(97)}


def test_defaults_stay_with_the_function(tasks: TaskRegistry) -> None:
    @tasks.task()
    def function(a: int, b: Opaque | None = None, *, c: date = date.min) -> None: ...

    assert sent(function, 1) == ((1,), {})


def test_what_has_no_annotation_arrives_as_json(tasks: TaskRegistry) -> None:
    @tasks.task()
    def function(a, *b, **c): ...  # type: ignore[no-untyped-def]

    assert sent(function, datetime(2030, 1, 1, tzinfo=UTC), (1,), d={2}) == (
        ("2030-01-01T00:00:00Z", [1]),
        {"d": [2]},
    )


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, "5"),
        (int, 5.5),
        (int, None),
        (str, 5),
        (bool, 1),
        (datetime, "tomorrow"),
        (UUID, "7"),
        (Colour, "blue"),
        (Sale, {"item": "x"}),
        (Sale, {"item": "x", "price": "97"}),
        (list[int], [1, "2"]),
        (tuple[int, str], [1]),
        (Literal["a"], "b"),
        (Annotated[int, Meta(ge=0)], -1),
    ],
    ids=lambda each: str(each)[:40],
)
def test_what_does_not_fit_is_a_decode_error(tasks: TaskRegistry, kind: Any, value: Any) -> None:
    task = taking(tasks, kind)
    with pytest.raises(
        DecodeError, match=r"^argument '\w+' of task 'function' cannot be decoded: "
    ):
        task.converted([value], {})


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [([], {}), ([1, 2, 3], {}), ([1], {"c": 1}), ([1], {"a": 1}), ([1], {"": 1})],
)
def test_arguments_of_another_signature_are_a_decode_error(
    tasks: TaskRegistry, args: list[Any], kwargs: dict[str, Any]
) -> None:
    """An older or newer producer, or one in another language."""

    @tasks.task()
    def function(a: int, b: int = 0) -> None: ...

    with pytest.raises(DecodeError, match="the call of task 'function'"):
        function.converted(args, kwargs)


@pytest.mark.parametrize(
    ("value", "kind", "problem"),
    [
        ("hunter2", Literal["x", "y"], "Invalid enum value"),
        ("hunt'er2", Literal["x", "y"], "Invalid enum value"),
        (4711, Literal[1, 2], "Invalid enum value"),
        ({"hunter2": 1}, dict[Literal["x"], int], "Invalid enum value - at `key` in `$`"),
        ("hunter2", int, "Expected `int`, got `str`"),
    ],
)
def test_a_wrong_argument_is_not_quoted(
    tasks: TaskRegistry, value: Any, kind: Any, problem: str
) -> None:
    def function(what: Any) -> None: ...

    function.__annotations__ = {"what": kind}
    with pytest.raises(DecodeError) as caught:
        tasks.task()(function).converted([value], {})
    assert str(caught.value).endswith(problem)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("kind", [datetime | date, Callable, type, complex, Opaque], ids=str)
def test_an_annotation_that_json_cannot_become_does_no_harm_to_others(
    tasks: TaskRegistry, kind: Any
) -> None:
    def function(day: date, x: Any = None) -> None: ...

    function.__annotations__ = {"day": date, "x": kind}
    assert sent(tasks.task()(function), date(2030, 1, 1)) == ((date(2030, 1, 1),), {})


def test_an_ambiguous_annotation_is_left_to_the_task(tasks: TaskRegistry) -> None:
    assert sent(taking(tasks, datetime | date), date(2030, 1, 1)) == (("2030-01-01",), {})


def test_a_name_that_comes_later_is_found_when_it_is_needed(tasks: TaskRegistry) -> None:
    """Annotations are read at the first conversion, not when the task is registered."""
    module = types.ModuleType("later")
    exec("def function(x: 'Later'): ...", vars(module))
    task = tasks.task()(module.function)
    vars(module)["Later"] = Sale
    assert sent(task, Sale("itemX", 97)) == ((Sale("itemX", 97),), {})


def test_a_name_for_the_type_checker_only_breaks_nothing(tasks: TaskRegistry) -> None:
    @tasks.task()
    def function(x: Path) -> None: ...

    assert sent(function, "a/b") == (("a/b",), {})


def test_a_name_for_the_type_checker_only_does_no_harm_to_others(tasks: TaskRegistry) -> None:
    """A datetime must not turn into text because of the type of a neighbour, or of the result."""

    @tasks.task()
    def function(day: date, x: Path | None = None) -> Path: ...

    assert sent(function, date(2030, 1, 1)) == ((date(2030, 1, 1),), {})


@pytest.mark.parametrize("kind", ["datetime.missing", "int +"])
def test_an_annotation_that_is_none_breaks_nothing(tasks: TaskRegistry, kind: str) -> None:
    assert sent(taking(tasks, kind), "text") == (("text",), {})


@pytest.mark.parametrize("depth", [10, 100_000])
def test_deep_arguments_are_data_or_a_decode_error(tasks: TaskRegistry, depth: int) -> None:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    task = taking(tasks, Any)
    try:
        assert task.converted([nested], {})[0][0] is not None
    except DecodeError:
        assert depth > 10
    while nested:  # so that it is not freed by recursion
        nested = nested.pop()
