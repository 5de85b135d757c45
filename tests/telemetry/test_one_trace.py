"""From a request of FastAPI to the end of all that it started: one trace."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.trace import ReadableSpan
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from conftest import Site
from holdfast import RESULT, AsyncHoldfast, Outbox, TaskRegistry, chain, current_task, group
from holdfast.fastapi import Client, lifespan
from telemetry.recording import Recording, parent_of, span_id, trace_of

TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

tasks = TaskRegistry()


@tasks.task(queue="email")
async def receipt(order: int) -> int:
    return order


@tasks.task(queue="parts")
def part(number: int) -> int:
    return number


@tasks.task(queue="reports")
def report(numbers: list[int]) -> int:
    return sum(numbers)


@tasks.task(queue="agents")
async def long(order: int) -> str:
    """Run a step, sleep, wait for a signal, and run another step."""
    task = current_task()
    await task.step("reserve", abs, order)
    await task.sleep(0.001)
    await task.wait_for("approved", timeout=60.0)
    return await task.step("ship", str, order)


class Shop:
    """The application, its database and what it records."""

    def __init__(self, site: Site, file: Path) -> None:
        self.site = site
        self.recording = Recording()
        metadata = sa.MetaData()
        self.outbox = Outbox(metadata, telemetry=self.recording.telemetry)
        self.engine: AsyncEngine = create_async_engine(f"sqlite+aiosqlite:///{file}")
        self.metadata = metadata
        self.app = FastAPI(lifespan=lifespan(self.client))
        FastAPIInstrumentor.instrument_app(
            self.app, tracer_provider=self.recording.tracers, exclude_spans=["receive", "send"]
        )

    def client(self) -> AsyncHoldfast:
        """Return a client that records."""
        telemetry = self.recording.telemetry
        return AsyncHoldfast.from_url(
            self.site.url, namespace=self.site.namespace, telemetry=telemetry
        )

    async def request(self) -> ReadableSpan:
        """Send one request that is in a trace, and return its span."""
        transport = httpx.ASGITransport(self.app)
        async with (
            self.app.router.lifespan_context(self.app),
            httpx.AsyncClient(transport=transport, base_url="http://shop") as browser,
        ):
            response = await browser.post("/orders", headers={"traceparent": TRACEPARENT})
        assert response.status_code == 200
        return self.recording.span("POST /orders")

    async def work(self) -> None:
        """Run all tasks, with a client of their own, as another process would."""
        async with self.client() as hf:
            await hf.worker(tasks).run(until_idle=True)

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans with a name."""
        return [span for span in self.recording.spans if span.name == name]

    def task_of(self, span: ReadableSpan) -> Any:
        """Return the name of the task of a span."""
        return dict(span.attributes or {}).get("holdfast.task.name")


@pytest.fixture
async def shop(site: Site, tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(site, tmp_path / "shop.db")
    yield shop
    await shop.engine.dispose()


def check_one_trace(shop: Shop) -> None:
    """Check that each span is in the trace of the browser, and that each has a recorded parent."""
    spans = shop.recording.spans
    assert {trace_of(span) for span in spans} == {TRACEPARENT.split("-")[1]}
    known = {span_id(span) for span in spans} | {int(TRACEPARENT.split("-")[2], 16)}
    assert [span.name for span in spans if parent_of(span) not in known] == []


async def test_a_task(shop: Shop) -> None:
    @shop.app.post("/orders")
    async def order(hf: Client) -> None:
        await hf.enqueue(receipt.call(7))

    request = await shop.request()
    await shop.work()
    [sent], [ran] = shop.named("send email"), shop.named("process email")
    assert (parent_of(sent), parent_of(ran)) == (span_id(request), span_id(sent))
    check_one_trace(shop)


async def test_a_task_of_the_outbox(shop: Shop) -> None:
    """The relay is in no trace, and adds nothing to this one."""
    async with shop.engine.begin() as connection:
        await connection.run_sync(shop.metadata.create_all)

    @shop.app.post("/orders")
    async def order() -> None:
        async with AsyncSession(shop.engine) as session, session.begin():
            await shop.outbox.enqueue(session, receipt.call(7))

    request = await shop.request()
    async with shop.client() as hf:
        await hf.outbox_relay(shop.outbox, shop.engine).run(until_idle=True)
    await shop.work()
    [sent], [ran] = shop.named("send email"), shop.named("process email")
    assert (parent_of(sent), parent_of(ran)) == (span_id(request), span_id(sent))
    check_one_trace(shop)


async def test_a_group(shop: Shop) -> None:
    """Its members, those of a nested group and a chain, and what is called at the end."""

    @shop.app.post("/orders")
    async def order(hf: Client) -> None:
        nested = group([part.call(3), part.call(4)], then=report.call(RESULT))
        chained = chain(part.call(5), part.call(RESULT))
        members = [part.call(1), receipt.call(2), nested, chained]
        await hf.enqueue_group(members, then=receipt.call(9))

    request = await shop.request()
    await shop.work()
    [sent] = [span for span in shop.recording.spans if parent_of(span) == span_id(request)]
    processed = [span for span in shop.recording.spans if span.name.startswith("process ")]
    names = sorted(str(shop.task_of(span)) for span in processed)
    assert names == [*["part"] * 5, *["receipt"] * 2, "report"]
    assert {parent_of(span) for span in processed} == {span_id(sent)}
    check_one_trace(shop)


async def test_durable_steps(shop: Shop) -> None:
    """A task that sleeps, and has got its signal already: two runs in one trace."""

    @shop.app.post("/orders")
    async def order(hf: Client) -> str:
        return (await hf.enqueue(long.call(7))).task_id

    await shop.request()
    async with shop.client() as hf:
        [task] = await hf.queue("agents").tasks()
        await hf.queue("agents").handle(task.task_id).signal("approved")
    await shop.work()
    [sent] = shop.named("send agents")
    runs, steps = shop.named("process agents"), shop.named("step agents")
    outcomes = [dict(span.attributes or {})["holdfast.outcome"] for span in runs]
    assert outcomes == ["suspend", "done"]
    assert [dict(span.attributes or {})["holdfast.task.step"] for span in steps] == [
        "reserve",
        "ship",
    ]
    assert {parent_of(span) for span in runs} == {span_id(sent)}
    assert [parent_of(span) for span in steps] == [span_id(span) for span in runs]
    check_one_trace(shop)
