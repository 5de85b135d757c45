"""The wire envelope: what any language may write, and what a worker makes of it."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Call, DecodeError, PayloadTooLarge, PerKey, TaskRegistry, Unique
from holdfast.core.trace import TraceContext
from holdfast.queues.enqueue_batch import (
    BATCH_BYTES,
    BATCH_TASKS,
    OTHER_TASKS,
    batched,
    packed,
    plain_arguments,
)
from holdfast.queues.envelope import VERSION, Envelope

TEXT = st.text(max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
NEEDED = {"v": VERSION, "task": "mail"}
FULL = {"v": VERSION, "id": "a", "queue": "email", "task": "mail"}

tasks = TaskRegistry()


@tasks.task(queue="email", priority="low")
def mail(*args: Any, **kwargs: Any) -> None:
    """Send nothing."""


def unpacked(fields: object) -> Envelope:
    """Return the envelope in JSON that was stored under the id `a`."""
    return Envelope.unpacked(json.dumps(fields).encode(), "a")


@given(
    st.builds(
        Envelope,
        v=st.just(VERSION),
        id=st.sampled_from(["", "a"]),
        queue=TEXT,
        task=TEXT,
        args=st.lists(VALUES, max_size=4),
        kwargs=st.dictionaries(TEXT, VALUES, max_size=4),
        priority=TEXT,
        enqueued_ms=st.integers(0, 2**47),
    )
)
def test_an_envelope_comes_back_as_it_was(envelope: Envelope) -> None:
    assert Envelope.unpacked(envelope.packed(), "a") == envelope


def test_an_envelope_is_the_json_that_is_documented() -> None:
    """Other languages rely on it: names, order and all."""
    envelope = Envelope(
        v=1,
        task="mail",
        args=["17", 97],
        kwargs={"buyer": "27"},
        priority="high",
        enqueued_ms=1763718000123,
    )
    assert envelope.packed() == (
        b'{"v":1,"task":"mail","args":["17",97],"kwargs":{"buyer":"27"},"priority":"high",'
        b'"ts":1763718000123}'
    )


def test_the_id_and_the_queue_are_where_it_is_stored() -> None:
    """Every byte is stored; other programs may repeat them, and then they have to be right."""
    envelope = json.loads(packed(mail.call("17"), "sold-17")[-1])
    assert envelope.keys() == {"v", "task", "args", "priority", "ts"}
    full = unpacked(FULL)
    assert (full.id, full.queue, full.task) == ("a", "email", "mail")


def test_what_is_empty_is_left_out() -> None:
    """Most tasks have no keyword arguments, and every byte is stored."""
    assert json.loads(Envelope(**NEEDED).packed()) == NEEDED


def test_the_rest_may_be_left_out() -> None:
    envelope = unpacked(NEEDED)
    assert (envelope.args, envelope.kwargs, envelope.enqueued_ms) == ([], {}, 0)


def test_unknown_fields_do_no_harm() -> None:
    assert unpacked({**NEEDED, "trace": {"id": 5}, "expires": None}) == unpacked(NEEDED)


BROKEN = [
    *(
        ({key: FULL[key] for key in FULL if key != name}, rf"task 'a' .* field `{name}`")
        for name in NEEDED
    ),
    *(
        ({**NEEDED, "v": version}, f"version {version}, this worker reads {VERSION}")
        for version in (0, 2, -1, 2**40)
    ),
    ({"v": 2, "id": "a", "call": ["mail", 17]}, "version 2, this worker reads 1"),
    ({**FULL, "id": "b"}, r"the envelope of task 'a' .* it says to be 'b'"),
    *(
        ({**NEEDED, name: value}, rf"\$\.{name}")
        for name, values in {
            "v": ["1", True, None],
            "id": [5],
            "task": [None, ["mail"]],
            "queue": [{}],
            "args": [{"a": 1}, "ab"],
            "kwargs": [[], None],
            "ts": ["today"],
        }.items()
        for value in values
    ),
]
NO_ENVELOPES = [b"", b"null", b"[]", b'"text"', b"{", b"\x80\x04K\x01.", b"\xff", b"{}" * 2]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        *((json.dumps(fields).encode(), problem) for fields, problem in BROKEN),
        *((data, "task 'a' cannot be decoded") for data in [*NO_ENVELOPES, b"[" * 10**5]),
    ],
    ids=lambda each: repr(each[:60]),
)
def test_what_is_no_envelope_is_a_decode_error(data: bytes, problem: str) -> None:
    with pytest.raises(DecodeError, match=problem):
        Envelope.unpacked(data, "a")


@given(st.binary(max_size=300))
def test_any_bytes_are_an_envelope_or_a_decode_error(data: bytes) -> None:
    try:
        Envelope.unpacked(data, "a")
    except DecodeError:
        return


def test_arguments_may_be_more_than_json() -> None:
    envelope = Envelope(
        **NEEDED, args=[datetime(2030, 1, 1, tzinfo=UTC), UUID(int=1), b"\x00", {1}, (2,)]
    )
    assert unpacked(json.loads(envelope.packed())).args == [
        "2030-01-01T00:00:00Z",
        "00000000-0000-0000-0000-000000000001",
        "AA==",
        [1],
        [2],
    ]


@pytest.mark.parametrize("argument", [object(), lambda: 1, "\ud800"], ids=["object", "λ", "half"])
def test_arguments_that_are_no_json_are_a_type_error(argument: object) -> None:
    with pytest.raises(TypeError, match="task 'mail' cannot be stored"):
        Envelope(**NEEDED, args=[argument]).packed()


def test_an_envelope_has_a_limit() -> None:
    with pytest.raises(PayloadTooLarge, match=r"task 'mail' takes 1,048,6\d\d bytes"):
        Envelope(**NEEDED, args=["x" * 2**20]).packed()


# As the scripts take it


def test_a_call_is_packed_with_its_own_options_first() -> None:
    call: Call[None] = mail.call("17", buyer="27")
    task_id, priority, wait, expires, body = packed(call, "a")
    assert (task_id, priority, wait, expires) == ("a", 3, "0", "0")
    envelope = Envelope.unpacked(body, "a")
    assert envelope.task == "mail"
    assert (envelope.args, envelope.kwargs) == (["17"], {"buyer": "27"})
    assert abs(envelope.enqueued_ms / 1000 - datetime.now(UTC).timestamp()) < 60
    later = call.options(priority="high", delay=5, expires=60)
    assert packed(later, "a")[1:4] == (1, "+5000", "+60000")


def test_tasks_with_options_that_scripts_read_are_not_plain() -> None:
    """The script for plain tasks ignores these options, so it must never get such a task."""
    registry = TaskRegistry()

    @registry.task(queue="email", unique=Unique(), limit=PerKey("to", concurrency=1))
    def both(to: str) -> None: ...

    @registry.task(queue="email", limit=PerKey("to", concurrency=1))
    def limited(to: str) -> None: ...

    trace = TraceContext("00-" + "a" * 32 + "-" + "b" * 16 + "-01")
    plain: Call[None] = mail.call(',"unique":"end skip 0 abc"}')
    special = [
        plain.options(delay=5),
        plain.options(expires=5),
        plain.options(unique=Unique()),
        *(both.call("a"), limited.call("a"), limited.call("a").options(unique=Unique())),
    ]
    for call in (plain, plain.options(headers={"a": "b"}), mail.call("ends", with_="text")):
        for one in (packed(call, "a"), packed(call, "a", trace), packed(call, "a", None, "g 1")):
            assert plain_arguments([one]) == ["3", "a", one[-1]]
    for call in special:
        one = packed(call, "b", trace)
        assert plain_arguments([packed(plain, "a"), one]) is None


def test_batches_keep_order_and_limits() -> None:
    """Several hundred tasks, but never half a megabyte, in one step; each queue by itself."""

    @tasks.task(queue="other")
    def other() -> None:
        """Does nothing."""

    calls: list[Call[None]] = [mail.call(n) for n in range(2 * BATCH_TASKS + 1)]
    calls.insert(7, other.call())
    batches = list(batched(calls, [str(n) for n in range(len(calls))]))
    assert [(batch.queue, len(batch.tasks)) for batch in batches] == [
        ("email", BATCH_TASKS),
        ("email", BATCH_TASKS),
        ("email", 1),
        ("other", 1),
    ]
    ids = [task[0] for batch in batches for task in batch.tasks if batch.queue == "email"]
    assert ids == [str(n) for n in range(len(calls)) if n != 7]


def test_tasks_that_are_not_plain_make_small_batches() -> None:
    """Each takes the server several times as long."""
    plain: Call[None] = mail.call(1)
    calls = [plain.options(delay=1.0), plain.options(expires=60.0)] * OTHER_TASKS
    batches = batched(calls, [str(n) for n in range(len(calls))])
    assert [len(batch.tasks) for batch in batches] == [OTHER_TASKS] * 2
    half = OTHER_TASKS // 2
    calls = [*calls[:half], *[plain] * (BATCH_TASKS // 2 + 1)]
    batches = batched(calls, [str(n) for n in range(len(calls))])
    assert [len(batch.tasks) for batch in batches] == [half + BATCH_TASKS // 2, 1]


def test_large_tasks_make_small_batches() -> None:
    sizes = [BATCH_BYTES // 3] * 4 + [BATCH_BYTES + 10, 10]
    batches = batched([mail.call("x" * size) for size in sizes], [str(size) for size in sizes])
    assert [len(batch.tasks) for batch in batches] == [2, 2, 1, 1]


def test_nothing_is_batched_when_one_cannot_be_stored() -> None:
    """The first batch comes only when all are packed."""
    with pytest.raises(TypeError, match="cannot be stored"):
        next(batched([mail.call(1), mail.call(object())], ["a", "b"]))
