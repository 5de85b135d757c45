"""Wrong arguments raise an error before any I/O, in either half."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from faults.halves import Half
from holdfast import Holdfast, Limit, LocalFiles, TaskRegistry

NOBODY = "redis://127.0.0.1:1"
"""There is no server: a call to it would be `ServerUnavailable`."""

CASES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "the day of a total": (
        lambda hf: hf.tally("t").total("yesterday"),
        ValueError,
        "day must be a date such as",
    ),
    "the type of a day": (lambda hf: hf.tally("t").total(3), TypeError, "day must be a date or"),
    "the day of dimensions": (
        lambda hf: hf.tally("t").dimensions("2011-02-30"),
        ValueError,
        "day must be a date such as",
    ),
    "the day of what is rejected": (
        lambda hf: hf.tally("t").rejected("x"),
        ValueError,
        "day must be a date such as",
    ),
    "the limit of top": (
        lambda hf: hf.tally("t").top("country", day="2011-10-10", limit=0),
        ValueError,
        "limit must be 1 to 10,000",
    ),
    "the dimension of top": (
        lambda hf: hf.tally("t").top(3, day="2011-10-10"),
        TypeError,
        "must be a str, got int",
    ),
    "the limit of a comparison": (
        lambda hf: hf.tally("t").compare("2011-10-10", "2011-10-11", dimension="city", limit=1.5),
        TypeError,
        "limit must be an int",
    ),
    "the value of a count": (
        lambda hf: hf.tally("t").count("country", None, day="2011-10-10"),
        TypeError,
        "value must be a str",
    ),
    "what is aggregated": (
        lambda hf: hf.tally("t").aggregate(["a.log"], key=lambda line: None),
        TypeError,
        "expected feed.consumer",
    ),
    "a feed instead of its consumer": (
        lambda hf: hf.tally("t").aggregate(hf.file_feed("f"), key=lambda line: None),
        TypeError,
        "expected feed.consumer",
    ),
    "a class that is aggregated": (
        lambda hf: hf.tally("t").aggregate(LocalFiles, key=lambda line: None),
        TypeError,
        "expected feed.consumer",
    ),
    "the limit of dead tasks": (
        lambda hf: hf.queue("q").dead(1.5),
        TypeError,
        "limit must be an int, got float",
    ),
    "the minutes of a pace": (
        lambda hf: hf.queue("q").throughput("60"),
        TypeError,
        "minutes must be an int, got str",
    ),
    "ids of rows": (
        lambda hf: hf.row_cache("r").get_many("42"),
        TypeError,
        "for a single one use get",
    ),
    "a smaller budget": (
        lambda hf: hf.file_feed("f").redefine(budget=1),
        ValueError,
        "budget must be 1,048,576 to",
    ),
    "a shorter lease": (
        lambda hf: hf.file_feed("f").redefine(lease=0.5),
        ValueError,
        "lease must be at least 1 s",
    ),
    "nothing to change in a feed": (
        lambda hf: hf.file_feed("f").redefine(),
        ValueError,
        "give budget, lease or both",
    ),
    "the id of an operation": (
        lambda hf: hf.fenced("f").set(1, 1, op_id=UUID(int=7)),
        TypeError,
        "op_id must be a str, got UUID",
    ),
    "the id of a charge": (
        lambda hf: hf.rate_limit("api", Limit(1, per=1.0)).try_acquire(op_id=7),
        TypeError,
        "op_id must be a str, got int 7",
    ),
    "the positions of an inbox": (
        lambda hf: hf.inbox("ann").fetch(after=[1]),
        TypeError,
        "after takes chat ids with positions, not list",
    ),
    "nothing to change in a counter": (
        lambda hf: hf.counter("c").redefine(),
        ValueError,
        "give precisions, keep or both",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_wrong_arguments(half: Half, case: str) -> None:
    wrong, error, message = CASES[case]
    with pytest.raises(error, match=message):
        half.do(wrong(half.client(NOBODY, "wrong")))


def test_a_blocking_singleton_does_not_run_an_async_function() -> None:
    async def work(lease: object) -> int:
        return 1

    with (
        Holdfast.from_url(NOBODY) as hf,
        pytest.raises(TypeError, match="is async, but the client"),
    ):
        hf.singleton("reports").run(work)


@pytest.mark.parametrize("queue", [3, None, "\ud800"])
def test_a_task_of_no_queue(queue: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="name"):
        TaskRegistry().task(queue=queue)
