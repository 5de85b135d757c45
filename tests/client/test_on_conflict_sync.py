# Generated from test_on_conflict_async.py by tools/unasync.py: edit that, then run `make sync`.
"""What happens if a program gives another value of an option than the server stores."""

import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from conftest import Site
from holdfast import DefinitionConflict, Holdfast, TaskRegistry
from holdfast.core import definitions
from holdfast.core.definitions import OnConflict

tasks = TaskRegistry()


@tasks.task(queue="q")
def nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Option:
    """An option that the server stores: how a program gives and uses it, and its stored value."""

    before: Any
    after: Any
    use: Callable[[Holdfast, Any, OnConflict], Awaitable[Any]]
    stored: Callable[[Holdfast], Awaitable[Any]]


def use_semaphore(hf: Holdfast, limit: int, on_conflict: OnConflict) -> None:
    with hf.semaphore("s", limit=limit, on_conflict=on_conflict).hold(timeout=10):
        pass


def use_busy_semaphore(hf: Holdfast, limit: int, on_conflict: OnConflict) -> None:
    """Use it while there are other clients: not on the fast path."""
    with hf.semaphore("s", limit=limit).hold(timeout=10):
        use_semaphore(hf, limit, on_conflict)


def stored_limit(hf: Holdfast) -> int | None:
    return (hf.semaphore("s").inspect()).limit


def use_queue(hf: Holdfast, capacity: int, on_conflict: OnConflict) -> None:
    hf.queue("q", capacity=capacity, on_conflict=on_conflict)
    hf.enqueue(nothing.call())


def stored_capacity(hf: Holdfast) -> int | None:
    return (hf.queue("q").stats()).capacity


def use_mailbox(hf: Holdfast, capacity: int, on_conflict: OnConflict) -> None:
    hf.mailbox("m", capacity=capacity, on_conflict=on_conflict).send("x", sender="a")


def stored_mailbox(hf: Holdfast) -> int:
    return (hf.mailbox("m").status()).capacity


def use_overflow(hf: Holdfast, overflow: Any, on_conflict: OnConflict) -> None:
    hf.mailbox("m", overflow=overflow, on_conflict=on_conflict).send("x", sender="a")


def stored_overflow(hf: Holdfast) -> str:
    return (hf.mailbox("m").status()).overflow


def use_recent(hf: Holdfast, limit: int, on_conflict: OnConflict) -> None:
    recent = hf.recent("r", limit=limit, on_conflict=on_conflict)
    for name in "abcdef":
        recent.touch(name)


def stored_recent(hf: Holdfast) -> int:
    return len(hf.recent("r").all())


def use_counter(hf: Holdfast, keep: int, on_conflict: OnConflict) -> None:
    hf.counter("c", keep=keep, on_conflict=on_conflict).add()


def stored_keep(hf: Holdfast) -> int | None:
    state = hf.counter("c").inspect()
    return state and state.keep


def use_feed(hf: Holdfast, budget: int, on_conflict: OnConflict) -> None:
    feed = hf.file_feed("f", mode="share", budget=budget, on_conflict=on_conflict)
    feed.publish(io.BytesIO(str(budget).encode()), name=str(budget))


def stored_budget(hf: Holdfast) -> int:
    return (hf.file_feed("f").status()).budget


OPTIONS = {
    "semaphore": Option(5, 8, use_semaphore, stored_limit),
    "busy semaphore": Option(5, 8, use_busy_semaphore, stored_limit),
    "queue": Option(5, 8, use_queue, stored_capacity),
    "mailbox": Option(5, 8, use_mailbox, stored_mailbox),
    "overflow": Option("reject", "drop_oldest", use_overflow, stored_overflow),
    "recent": Option(2, 3, use_recent, stored_recent),
    "counter": Option(50, 80, use_counter, stored_keep),
    "feed": Option(1 << 20, 1 << 21, use_feed, stored_budget),
}

each_option = pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)


@each_option
def test_a_rolling_deployment_keeps_the_stored_value_and_logs_once(
    hf: Holdfast,
    option: Option,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(definitions, "_logged", set())
    option.use(hf, option.before, "keep")
    assert not caplog.records
    for _ in range(2):  # old and new programs run at the same time
        option.use(hf, option.after, "keep")
        option.use(hf, option.before, "keep")
    assert option.stored(hf) == option.before
    [record] = caplog.records
    text = record.getMessage().replace(",", "")
    assert f"{option.before}" in text
    assert f"{option.after}" in text
    assert "on_conflict='update'" in text


@each_option
def test_an_update_replaces_the_stored_value(hf: Holdfast, option: Option) -> None:
    option.use(hf, option.before, "keep")
    option.use(hf, option.after, "update")
    assert option.stored(hf) == option.after
    option.use(hf, option.before, "keep")
    assert option.stored(hf) == option.after


@each_option
def test_a_strict_program_gets_an_error(hf: Holdfast, option: Option) -> None:
    option.use(hf, option.before, "error")
    option.use(hf, option.before, "error")
    with pytest.raises(DefinitionConflict) as caught:
        option.use(hf, option.after, "error")
    assert str(option.before) in str(caught.value.stored).replace(",", "")
    assert option.stored(hf) == option.before


def test_the_number_of_shards_never_changes(hf: Holdfast) -> None:
    with pytest.raises(
        ValueError, match="on_conflict must be one of 'error', 'keep', got 'update'"
    ):
        hf.row_cache("r", shards=2, on_conflict="update")  # type: ignore[arg-type]


def test_an_unknown_on_conflict_is_refused(hf: Holdfast) -> None:
    wrong: Any = "ignore"
    for make in (
        lambda: hf.semaphore("s", limit=1, on_conflict=wrong),
        lambda: hf.queue("q", capacity=1, on_conflict=wrong),
        lambda: hf.mailbox("m", capacity=1, on_conflict=wrong),
        lambda: hf.recent("r", limit=1, on_conflict=wrong),
        lambda: hf.counter("c", keep=1, on_conflict=wrong),
        lambda: hf.file_feed("f", mode="share", on_conflict=wrong),
    ):
        with pytest.raises(ValueError, match="on_conflict must be one of"):
            make()


def test_a_program_that_redefines_gives_no_more_options_than_before(
    hf: Holdfast, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """Afterwards it uses what is stored, also if another program changes that."""
    box, recent = hf.mailbox("m", on_conflict="update"), hf.recent("r", on_conflict="update")
    box.redefine(capacity=5)
    recent.redefine(limit=5)
    hf.queue("q").redefine(capacity=5)
    with Holdfast.from_url(site.url, namespace=site.namespace) as other:
        other.mailbox("m").redefine(capacity=9, overflow="drop_oldest")
        other.recent("r").redefine(limit=9)
        other.queue("q").redefine(capacity=9)
    box.send("x", sender="a")
    for name in map(str, range(12)):
        recent.touch(name)
    hf.enqueue(nothing.call())
    assert stored_mailbox(hf) == 9
    assert len(recent.all()) == 9
    assert stored_capacity(hf) == 9
    assert not caplog.records
