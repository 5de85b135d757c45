"""Numbers of operations: none is used twice at once, or again while it may be in flight."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast import (
    DamagedData,
    InvalidName,
    OutcomeUnknown,
    PayloadTooLarge,
    ServerRefused,
    ServerUnavailable,
)
from holdfast.core.ledger import Operation, Writers, keys, new_writer
from holdfast.core.names import Namespace

OP_IDS = st.text(max_size=40)


def again(op_id: str) -> str:
    """Return the operation id: `repeat` does this in these tests."""
    return f"again as {op_id}"


def begun(writers: Writers, op_id: str | None = None) -> Operation:
    """Return an operation of *writers*."""
    return writers.operation(op_id, again)


def test_a_writer_is_short_and_unique() -> None:
    """It is repeated in every call, and must not be another process's."""
    made = {new_writer() for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch("[0-9a-z]{13}", writer) for writer in made)


def test_a_writer_counts_its_operations() -> None:
    writers = Writers()
    seen = []
    for _ in range(3):
        with begun(writers) as operation:
            seen.append(operation)
    assert [operation.number for operation in seen] == [1, 2, 3]
    assert {operation.writer for operation in seen} == {seen[0].writer}
    assert [operation.id for operation in seen] == [f"hf:{seen[0].writer}.{n}" for n in (1, 2, 3)]
    assert [operation.label for operation in seen] == [f"{seen[0].writer}.{n}" for n in (1, 2, 3)]


def test_what_was_done_together_is_repeated_by_its_place() -> None:
    third = begun(Writers(), "hf:0123456789abc.7:3")
    assert (third.writer, third.number, third.place) == ("0123456789abc", 7, 3)
    assert third.id == "hf:0123456789abc.7:3"
    alone = (None, "mine", "hf:0123456789abc.7")
    assert {begun(Writers(), op_id).place for op_id in alone} == {1}


def test_what_is_under_way_together_has_different_writers() -> None:
    """The server remembers only the last number of each."""
    writers = Writers()
    with begun(writers) as one, begun(writers) as other:
        assert one.writer != other.writer
    with begun(writers) as later:
        assert later.writer in {one.writer, other.writer}
        assert later.number == 2


@pytest.mark.parametrize(
    "error",
    [
        ServerUnavailable("queues/enqueue", "away"),
        ServerRefused("queues/enqueue", "out of memory"),
        PayloadTooLarge("a task", 2, 1),
        ValueError("no JSON"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_writer_goes_on_after_what_was_surely_not_applied(error: Exception) -> None:
    writers = Writers()
    with pytest.raises(type(error)), begun(writers) as failed:
        raise error
    assert (begun(writers).writer, failed.number) == (failed.writer, 1)


@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(), GeneratorExit()],
    ids=repr,
)
def test_a_writer_goes_on_after_a_cancellation(error: BaseException) -> None:
    """If the operation is still on its way to the server, it arrives with an older number."""
    writers = Writers()
    with pytest.raises(type(error)), begun(writers) as cancelled:
        raise error
    following = begun(writers)
    assert (following.writer, following.number) == (cancelled.writer, cancelled.number + 1)


def test_a_writer_is_given_up_after_damage() -> None:
    writers = Writers()
    with pytest.raises(DamagedData), begun(writers) as damaged:
        raise DamagedData("queues/enqueue on queue 'q'", "queue 'q'", "an entry is not")
    assert begun(writers).writer != damaged.writer


def test_a_writer_is_given_up_while_the_outcome_is_unknown() -> None:
    """The user may repeat it, for as long as the server remembers."""
    writers = Writers()
    with pytest.raises(OutcomeUnknown) as caught, begun(writers) as unknown:
        raise OutcomeUnknown("queues/enqueue", "reply lost")
    assert caught.value.op_id == unknown.id
    assert caught.value.repeat() == f"again as {unknown.id}"
    assert begun(writers).writer != unknown.writer


def test_repeating_is_the_same_operation() -> None:
    writers = Writers()
    with begun(writers) as first:
        pass
    with begun(writers, first.id) as repeated:
        assert (repeated.writer, repeated.number) == (first.writer, first.number)
    with begun(writers) as fresh:
        assert (fresh.writer, fresh.number) == (first.writer, 2), "a repetition gives nothing back"


def test_a_repetition_that_is_lost_too_can_be_repeated() -> None:
    with pytest.raises(OutcomeUnknown) as caught, begun(Writers(), "abcdefghijklm.7"):
        raise OutcomeUnknown("queues/enqueue", "lost again")
    assert caught.value.op_id == "abcdefghijklm.7"
    assert caught.value.repeat() == "again as abcdefghijklm.7"


def test_the_outermost_operation_speaks_last() -> None:
    """A user repeats what was called, not a part of it."""
    writers = Writers()
    with pytest.raises(OutcomeUnknown) as caught, begun(writers) as outer, begun(writers):
        raise OutcomeUnknown("queues/enqueue", "reply lost")
    assert caught.value.op_id == outer.id


@given(OP_IDS, OP_IDS)
@example("a.1", "a.2")
@example("~a", "a")
@example("", "%")
@example("ABCDEFGHIJKLM.1", "abcdefghijklm.1")
def test_ids_of_the_users_own_never_meet(one: str, other: str) -> None:
    assume(one != other)
    first, second = Operation.named(one, again), Operation.named(other, again)
    assert (first.writer, first.number) != (second.writer, second.number)


@given(OP_IDS)
@example("abcdefghijklm")
@example("abcdefghijklm.0")
@example("abcdefghijklm.01")
@example("abcdefghijklm.1 ")
@example("abcdefghijklm.1\n")
@example("abcdefghijklm.1234567890123456")
def test_an_id_of_the_users_own_is_never_one_of_ours(op_id: str) -> None:
    """Ours begin with a letter or a digit, theirs with a tilde, and theirs count no further."""
    assume(not re.fullmatch(r"[0-9a-z]{13}\.[1-9][0-9]{0,14}", op_id))
    operation = Operation.named(op_id, again)
    assert operation.writer.startswith("~")
    assert operation.number == 1
    assert operation.id == op_id


def test_ids_made_of_the_time_and_a_count_are_independent() -> None:
    """The second may come first: nothing may call the first superseded."""
    one, other = (Operation.named(f"1763718000123.{n}", again) for n in (1, 2))
    assert one.writer != other.writer


@pytest.mark.parametrize("op_id", ["\ud800", "x" * 513])
def test_an_id_that_cannot_be_stored_is_refused(op_id: str) -> None:
    with pytest.raises(InvalidName):
        begun(Writers(), op_id)


@pytest.mark.parametrize("op_id", [5, b"abc", object()])
def test_an_id_is_text(op_id: object) -> None:
    with pytest.raises(TypeError):
        begun(Writers(), op_id)  # type: ignore[arg-type]


def test_an_empty_id_is_an_id() -> None:
    assert begun(Writers(), "").writer == "~~%"


def test_threads_never_share_a_writer() -> None:
    """10,000 operations of 8 threads: no identity is used twice."""
    writers = Writers()

    def work(_: int) -> list[str]:
        ids = []
        for _ in range(1250):
            with begun(writers) as operation:
                ids.append(operation.id)
        return ids

    with ThreadPoolExecutor(8) as threads:
        made = [op_id for ids in threads.map(work, range(8)) for op_id in ids]
    assert len(set(made)) == 10_000


def test_the_ledger_of_a_unit_lies_in_its_slot() -> None:
    unit = Namespace.of("shop").unit("queue", "email")
    assert keys(unit) == ("shop:{queue:email}:ledger:0", "shop:{queue:email}:ledger:1")
