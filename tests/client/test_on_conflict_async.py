"""What happens if a program gives another value of an option than the server stores."""

import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, DefinitionConflict, TaskRegistry
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
    use: Callable[[AsyncHoldfast, Any, OnConflict], Awaitable[Any]]
    stored: Callable[[AsyncHoldfast], Awaitable[Any]]


async def use_semaphore(hf: AsyncHoldfast, limit: int, on_conflict: OnConflict) -> None:
    async with hf.semaphore("s", limit=limit, on_conflict=on_conflict).hold(timeout=10):
        pass


async def use_busy_semaphore(hf: AsyncHoldfast, limit: int, on_conflict: OnConflict) -> None:
    """Use it while there are other clients: not on the fast path."""
    async with hf.semaphore("s", limit=limit).hold(timeout=10):
        await use_semaphore(hf, limit, on_conflict)


async def stored_limit(hf: AsyncHoldfast) -> int | None:
    return (await hf.semaphore("s").inspect()).limit


async def use_queue(hf: AsyncHoldfast, capacity: int, on_conflict: OnConflict) -> None:
    hf.queue("q", capacity=capacity, on_conflict=on_conflict)
    await hf.enqueue(nothing.call())


async def stored_capacity(hf: AsyncHoldfast) -> int | None:
    return (await hf.queue("q").stats()).capacity


async def use_mailbox(hf: AsyncHoldfast, capacity: int, on_conflict: OnConflict) -> None:
    await hf.mailbox("m", capacity=capacity, on_conflict=on_conflict).send("x", sender="a")


async def stored_mailbox(hf: AsyncHoldfast) -> int:
    return (await hf.mailbox("m").status()).capacity


async def use_overflow(hf: AsyncHoldfast, overflow: Any, on_conflict: OnConflict) -> None:
    await hf.mailbox("m", overflow=overflow, on_conflict=on_conflict).send("x", sender="a")


async def stored_overflow(hf: AsyncHoldfast) -> str:
    return (await hf.mailbox("m").status()).overflow


async def use_recent(hf: AsyncHoldfast, limit: int, on_conflict: OnConflict) -> None:
    recent = hf.recent("r", limit=limit, on_conflict=on_conflict)
    for name in "abcdef":
        await recent.touch(name)


async def stored_recent(hf: AsyncHoldfast) -> int:
    return len(await hf.recent("r").all())


async def use_counter(hf: AsyncHoldfast, keep: int, on_conflict: OnConflict) -> None:
    await hf.counter("c", keep=keep, on_conflict=on_conflict).add()


async def stored_keep(hf: AsyncHoldfast) -> int | None:
    state = await hf.counter("c").inspect()
    return state and state.keep


async def use_feed(hf: AsyncHoldfast, budget: int, on_conflict: OnConflict) -> None:
    feed = hf.file_feed("f", mode="share", budget=budget, on_conflict=on_conflict)
    await feed.publish(io.BytesIO(str(budget).encode()), name=str(budget))


async def stored_budget(hf: AsyncHoldfast) -> int:
    return (await hf.file_feed("f").status()).budget


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
async def test_a_rolling_deployment_keeps_the_stored_value_and_logs_once(
    hf: AsyncHoldfast,
    option: Option,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(definitions, "_logged", set())
    await option.use(hf, option.before, "keep")
    assert not caplog.records
    for _ in range(2):  # old and new programs run at the same time
        await option.use(hf, option.after, "keep")
        await option.use(hf, option.before, "keep")
    assert await option.stored(hf) == option.before
    [record] = caplog.records
    text = record.getMessage().replace(",", "")
    assert f"{option.before}" in text
    assert f"{option.after}" in text
    assert "on_conflict='update'" in text


@each_option
async def test_an_update_replaces_the_stored_value(hf: AsyncHoldfast, option: Option) -> None:
    await option.use(hf, option.before, "keep")
    await option.use(hf, option.after, "update")
    assert await option.stored(hf) == option.after
    await option.use(hf, option.before, "keep")
    assert await option.stored(hf) == option.after


@each_option
async def test_a_strict_program_gets_an_error(hf: AsyncHoldfast, option: Option) -> None:
    await option.use(hf, option.before, "error")
    await option.use(hf, option.before, "error")
    with pytest.raises(DefinitionConflict) as caught:
        await option.use(hf, option.after, "error")
    assert str(option.before) in str(caught.value.stored).replace(",", "")
    assert await option.stored(hf) == option.before


async def test_the_number_of_shards_never_changes(hf: AsyncHoldfast) -> None:
    with pytest.raises(
        ValueError, match="on_conflict must be one of 'error', 'keep', got 'update'"
    ):
        hf.row_cache("r", shards=2, on_conflict="update")  # type: ignore[arg-type]


async def test_an_unknown_on_conflict_is_refused(hf: AsyncHoldfast) -> None:
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


async def test_a_program_that_redefines_gives_no_more_options_than_before(
    hf: AsyncHoldfast, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """Afterwards it uses what is stored, also if another program changes that."""
    box, recent = hf.mailbox("m", on_conflict="update"), hf.recent("r", on_conflict="update")
    await box.redefine(capacity=5)
    await recent.redefine(limit=5)
    await hf.queue("q").redefine(capacity=5)
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as other:
        await other.mailbox("m").redefine(capacity=9, overflow="drop_oldest")
        await other.recent("r").redefine(limit=9)
        await other.queue("q").redefine(capacity=9)
    await box.send("x", sender="a")
    for name in map(str, range(12)):
        await recent.touch(name)
    await hf.enqueue(nothing.call())
    assert await stored_mailbox(hf) == 9
    assert len(await recent.all()) == 9
    assert await stored_capacity(hf) == 9
    assert not caplog.records
