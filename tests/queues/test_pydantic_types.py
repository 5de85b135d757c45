"""Models of pydantic as arguments and results, and that pydantic is not imported without them."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union
from uuid import UUID

import msgspec
import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, SecretStr, computed_field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from faults.servers import Server
from holdfast import DecodeError, Holdfast, Retry, Task, TaskFailed, TaskRegistry
from holdfast.core.codec import JSON

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Address(BaseModel):
    street: str
    number: int = Field(gt=0)


class Customer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(alias="fullName")
    address: Address | None = None
    since: datetime = NOON
    key: UUID = UUID(int=7)
    price: Decimal = Decimal("97.10")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def greeting(self) -> str:
        return f"Dear {self.name}"


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: list[str]


@pydantic_dataclass
class Parcel:
    weight: int = Field(gt=0)
    content: bytes = b""
    sent: datetime | None = None


@dataclass
class Shipment:
    parcels: list[Parcel]
    to: Address


class Node(BaseModel):
    value: int
    children: list[Node] = []


Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    items: list[Item]


class Signed(msgspec.Struct):
    cat: Cat


class Guarded(BaseModel):
    token: SecretStr


class Unguarded(BaseModel):
    token: SecretStr

    @pydantic.field_serializer("token")
    def _plain(self, token: SecretStr) -> str:
        return token.get_secret_value()


HOME = Address(street="Main Street", number=5)
JILL = Customer(fullName="Jill", address=HOME)
CAT, DOG = Cat(lives=9), Dog(tricks=["sit"])

TRAVELLERS: list[tuple[Any, Any]] = [
    (Address, HOME),
    (Customer, JILL),
    (Address | None, None),
    (Optional[Address], HOME),  # noqa: UP045
    (list[Address], [HOME, HOME]),
    (Sequence[Address], [HOME]),
    (dict[str, list[Customer]], {"a": [JILL]}),
    (Mapping[str, Address], {"a": HOME}),
    (dict[int, Address], {1: HOME}),
    (tuple[int, Address], (1, HOME)),
    (tuple[Address, ...], (HOME, HOME)),
    (Cat | Dog, DOG),
    (Union[Cat, Dog, str, None], "none"),  # noqa: UP007
    (Annotated[Cat | Dog, Field(discriminator="kind")], CAT),
    (list[Cat | Dog], [CAT, DOG]),
    (Parcel, Parcel(5, "\u00e9".encode(), NOON)),
    (list[Parcel], [Parcel(5)]),
    (dict[str, bytes | Address], {"a": b"\xff\x00"}),
    (Shipment, Shipment([Parcel(1, b"a")], HOME)),
    (Node, Node(value=1, children=[Node(value=2)])),
    (Page[Address], Page[Address](items=[HOME])),
    (HttpUrl, HttpUrl("https://example.com/a")),
    (Annotated[int, Field(gt=0)], 5),
    (Unguarded, Unguarded(token=SecretStr("hunter2"))),
]


def taking(kind: Any) -> Task[..., Any]:
    """Return a task with one parameter `x`, and a result, of a type."""

    def work(x: Any) -> Any:
        return x

    work.__annotations__ = {"x": kind, "return": kind}
    return TaskRegistry().task(retry=Retry(attempts=1))(work)


def sent(task: Task[..., Any], *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments as they arrive after a round trip as JSON."""
    args_stored, kwargs_stored = task.stored(args, kwargs)
    args_read, kwargs_read = JSON.decode(JSON.encode([args_stored, kwargs_stored]))
    return task.converted(args_read, kwargs_read)


@pytest.mark.parametrize(("kind", "value"), TRAVELLERS, ids=lambda each: str(each)[:40])
def test_models_arrive_with_the_types_of_the_signature(kind: Any, value: Any) -> None:
    task = taking(kind)
    for args, kwargs in (sent(task, value), sent(task, x=value)):
        [arrived] = [*args, *kwargs.values()]
        assert arrived == value
        assert type(arrived) is type(value)


@pytest.mark.parametrize("half", ["async", "sync"])
def test_models_are_arguments_and_results_of_real_tasks(standalone: Server, half: str) -> None:
    registry = TaskRegistry()

    @registry.task(queue="models")
    async def on_the_loop(customer: Customer, parcels: list[Parcel]) -> dict[str, Customer]:
        assert parcels == [Parcel(1, b"\xc3\xa9")]
        return {customer.name: customer}

    @registry.task(queue="models")
    def in_a_thread(customer: Customer, parcels: list[Parcel]) -> dict[str, Customer]:
        return {customer.name: customer}

    task = on_the_loop if half == "async" else in_a_thread
    with Holdfast.from_url(standalone.url, namespace=f"models-{half}") as hf:
        handle = hf.enqueue(task.call(JILL, parcels=[Parcel(1, b"\xc3\xa9")]))
        assert handle.status().args[0]["name"] == "Jill"
        hf.worker(registry).run(until_idle=True)
        assert handle.result(timeout=0) == {"Jill": JILL}
        [again] = [hf.queue("models").handle(handle.task_id).result(timeout=0)]
        assert again["Jill"]["address"] == {"street": "Main Street", "number": 5}


def test_what_is_annotated_loosely_arrives_as_json() -> None:
    task = taking(Any)
    assert sent(task, [HOME]) == (([{"street": "Main Street", "number": 5}],), {})
    assert sent(task, JILL)[0][0]["name"] == "Jill"


def test_names_and_aliases_of_fields_are_both_read() -> None:
    task = taking(Customer)
    for name in ("name", "fullName"):
        assert task.converted([{name: "Jill"}], {}) == ((Customer(fullName="Jill"),), {})


def test_variadic_models() -> None:
    @TaskRegistry().task()
    def work(first: int, *homes: Address, **more: Cat) -> None: ...

    assert sent(work, 1, HOME, HOME, a=CAT) == ((1, HOME, HOME), {"a": CAT})


def test_a_default_may_be_a_model() -> None:
    @TaskRegistry().task()
    def work(n: int, home: Address = HOME) -> None: ...

    assert sent(work, 1) == ((1,), {})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"street": "a"}, "Field required - at `number`"),
        ({"street": "hunter2", "number": 0}, "greater than 0 - at `number`"),
        ({"street": ["hunter2"], "number": 1}, "valid string - at `street`"),
        ("hunter2", "should be an object"),
    ],
)
def test_what_does_not_fit_is_a_decode_error_without_the_value(value: Any, problem: str) -> None:
    with pytest.raises(DecodeError, match=f"argument 'x' of task 'work'.*{problem}") as caught:
        taking(Address).converted([value], {})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_many_problems_are_some() -> None:
    with pytest.raises(DecodeError, match="and 7 more"):
        taking(list[int | Address]).converted([["x"] * 5], {})


def test_a_model_that_does_not_fit_ends_its_task(standalone: Server) -> None:
    registry = TaskRegistry()

    @registry.task(queue="models")
    def work(home: Address) -> Address:
        return home

    with Holdfast.from_url(standalone.url, namespace="wrong-models") as hf:
        handle = hf.enqueue(work.call({"street": "a"}))  # type: ignore[arg-type]
        hf.worker(registry).run(until_idle=True)
        with pytest.raises(TaskFailed, match=r"bad-arguments: .* Field required"):
            handle.result(timeout=0)


def test_a_result_that_does_not_fit_is_a_decode_error(standalone: Server) -> None:
    registry = TaskRegistry()

    @registry.task(queue="models")
    def work() -> Address:
        return {"street": "a"}  # type: ignore[return-value]

    with Holdfast.from_url(standalone.url, namespace="wrong-results") as hf:
        handle = hf.enqueue(work.call())
        hf.worker(registry).run(until_idle=True)
        with pytest.raises(DecodeError, match=r"the result of task .* Field required"):
            handle.result(timeout=0)


def test_a_model_cannot_be_the_key_of_a_dict() -> None:
    with pytest.raises(TypeError, match=r"parameter 'x' contains a Customer.*list of pairs"):
        taking(dict[Customer, int])


def test_what_pydantic_cannot_store_is_a_type_error() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        anything: object

    with pytest.raises(TypeError, match="argument 'x' of task 'work' cannot be stored"):
        sent(taking(Open), Open(anything=object()))


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (Guarded, "a SecretStr masked"),
        (SecretStr, "a SecretStr masked"),
        (list[Guarded | None], "a SecretStr masked"),
        (Signed, "Unable to generate pydantic-core schema"),
        (dict[str, Signed], "Unable to generate pydantic-core schema"),
    ],
)
def test_types_that_pydantic_would_not_store_are_refused(kind: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=f"^task 'work': parameter 'x' cannot be used: .*{problem}"):
        taking(kind)


def test_a_model_with_a_field_that_is_defined_later() -> None:
    source = """
from __future__ import annotations
from pydantic import BaseModel
class Order(BaseModel):
    sale: Sale
def work(order: Order) -> None: ...
"""
    module = types.ModuleType("later_models")
    sys.modules["later_models"] = module
    exec(source, vars(module))
    task: Task[..., Any] = TaskRegistry().task()(module.work)
    problem = "parameter 'order' cannot be used: name 'Sale' is not defined$"
    with pytest.raises(TypeError, match=problem):
        task.call(1)
    vars(module)["Sale"] = Cat
    [order], _ = sent(task, {"sale": {"lives": 9}})
    assert order == module.Order(sale=CAT)
    del sys.modules["later_models"]


PROGRAM = """
import sys
from dataclasses import dataclass
from datetime import datetime

import holdfast
import holdfast.queues.envelope, holdfast.queues.enqueue_batch, holdfast.queues.worker.runner

tasks = holdfast.TaskRegistry()

@dataclass
class Order:
    item: str

@tasks.task()
def work(order: Order, at: datetime, *more: int, name: str | None = None) -> list[Order]: ...

from holdfast.queues.enqueue_batch import packed
packed(work.call(Order("x"), datetime(2026, 1, 1), name="a"), "id")
try:
    packed(work.call(object(), 1), "id")
except TypeError:
    pass
work.converted([{"item": "x"}, "2026-01-01T00:00:00"], {})
work.returns
print("pydantic" in sys.modules)
"""


def test_pydantic_is_not_imported_unless_a_task_uses_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"
