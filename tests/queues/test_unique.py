"""`Unique`: its options, and what an envelope says of a key."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from holdfast import Call, TaskRegistry, Unique
from holdfast.queues.enqueue_batch import packed
from holdfast.queues.envelope import Envelope, StoredRetry
from holdfast.queues.unique import key_in

tasks = TaskRegistry()


class Size(msgspec.Struct):
    width: int
    height: int


@tasks.task(queue="pictures", unique=Unique(key="path"))
def resize(path: str, size: Size | None = None, *, fast: bool = False) -> None: ...


def packed_unique(call: Call[Any]) -> list[str]:
    """Return the words of the field `unique` of the envelope."""
    field = json.loads(packed(call, "id")[-1])["unique"]
    assert isinstance(field, str)
    return field.split(" ")


def key(call: Call[Any]) -> str:
    return packed_unique(call)[-1]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Unique(until="later"), ValueError),  # type: ignore[arg-type]
        (lambda: Unique(until=0), ValueError),
        (lambda: Unique(until=-1.0), ValueError),
        (lambda: Unique(until=1e9), ValueError),
        (lambda: Unique(until=None), TypeError),  # type: ignore[arg-type]
        (lambda: Unique(when="later"), ValueError),  # type: ignore[arg-type]
        (lambda: Unique(at_most=5.0), ValueError),
        (lambda: Unique(when="postpone", at_most=0), ValueError),
        (lambda: Unique(key=5), TypeError),  # type: ignore[arg-type]
        (lambda: Unique(key=("a", 5)), TypeError),  # type: ignore[arg-type]
        (lambda: resize.call("a").options(unique=True), TypeError),  # type: ignore[arg-type]
        (lambda: resize.call("a").options(unique=Unique(key="way")), ValueError),
        (lambda: tasks.task(unique=Unique(key="way"))(resize.function), ValueError),
        (lambda: tasks.task(unique="path")(resize.function), TypeError),  # type: ignore[arg-type]
    ],
)
def test_wrong_options_are_refused(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"until|when|at_most|key|Unique"):
        make()


def test_the_error_names_the_parameters() -> None:
    with pytest.raises(
        ValueError, match=r"'resize' has no parameter 'way' .* has path, size, fast"
    ):
        resize.call("a").options(unique=Unique(key="way"))


def test_a_postponed_call_needs_a_delay_within_its_limit() -> None:
    unique = Unique(key="path", when="postpone", at_most=timedelta(minutes=1))
    call = resize.call("a").options(unique=unique)
    with pytest.raises(ValueError, match=r"'resize' .* need a delay: task\.call\(…\)\.options"):
        packed(call, "id")
    with pytest.raises(ValueError, match="delay of task 'resize' is longer than at_most"):
        packed(call.options(delay=61), "id")
    assert packed_unique(call.options(delay=60))[:3] == ["end", "postpone", "60000"]


def test_the_words_are_those_of_the_options() -> None:
    assert packed_unique(resize.call("a"))[:3] == ["end", "skip", "0"]
    for until, word in (("start", "start"), (3600, "3600000"), (timedelta(minutes=1), "60000")):
        unique = Unique(until=until, when="raise")  # type: ignore[arg-type]
        assert packed_unique(resize.call("a").options(unique=unique))[:3] == [word, "raise", "0"]


def test_the_field_is_the_last_one_of_every_envelope() -> None:
    """The scripts look for it there, because an argument may contain the same text."""
    unique = "end skip 0 abc"
    full = Envelope(
        v=1,
        id="id",
        queue="q",
        task="t",
        args=[1],
        kwargs={"unique": unique},
        priority="low",
        enqueued_ms=7,
        traceparent="00-a-b-01",
        tracestate="x=y",
        headers={"a": "b"},
        timeout_ms=5,
        retry=StoredRetry(attempts=1),
        limit="2 0 0 0 t a",
        unique=unique,
    )
    assert full.packed().endswith(f',"limit":"2 0 0 0 t a","unique":"{unique}"}}'.encode())
    assert len(full.packed()) < 400
    longest = Unique(when="postpone", until=999_999_999, at_most=999_999_999)
    call = resize.call("a").options(unique=longest, delay=1)
    assert len(f',"unique":"{json.loads(packed(call, "id")[-1])["unique"]}"}}') <= 96


def test_the_key_has_the_stored_form_of_the_arguments() -> None:
    unique = Unique(key="size")
    sizes: list[Any] = [Size(1, 2), {"height": 2, "width": 1}, Size(1, 3), None]
    keys = [key(resize.call("a", size).options(unique=unique)) for size in sizes]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    omitted = key(resize.call("b").options(unique=unique))
    assert omitted == keys[3]  # it is the default
    assert omitted != key(resize.call("a", False).options(unique=unique))  # type: ignore[arg-type]


def test_a_default_that_cannot_be_stored_does_not_count() -> None:
    @TaskRegistry().task(unique=Unique())
    def opens(path: str, opener: Any = open, limit: float = float("inf")) -> None: ...

    assert key(opens.call("a")) == key(opens.call(path="a")) != key(opens.call("b"))


def test_a_key_that_cannot_be_stored_is_refused() -> None:
    call = resize.call("a").options(unique=Unique(key=lambda *_: object()))
    with pytest.raises(TypeError, match="the unique key of task 'resize' cannot be stored"):
        packed(call, "id")


def test_a_key_is_the_same_in_every_process() -> None:
    """A later version must not change it: the tasks of both wait in the same queue."""
    assert key(resize.call("a", fast=True)) == "mgypPfRK3SvNWwpuojxbFQ"


def test_only_what_was_packed_here_is_a_key() -> None:
    assert key_in("600000 replace 0 ab-_9") == "ab-_9"
    for foreign in (None, 5, "", "yes", "end skip 0", "end skip 0 <b>", ["end skip 0 a"]):
        assert key_in(foreign) == ""


def test_tasks_that_are_not_unique_store_no_key() -> None:
    plain = resize.call("a").options(unique=False)
    assert b"unique" not in packed(plain, "id")[-1]
    assert Envelope.unpacked(packed(plain, "id")[-1], "id").unique is None
