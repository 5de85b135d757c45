"""A telemetry that raises, or suppresses exceptions, changes no operation."""

import asyncio
import logging
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import MetaData

from conftest import Site
from holdfast import (
    AsyncHoldfast,
    Holdfast,
    LockTimeout,
    Message,
    OpenTelemetry,
    Outbox,
    PrometheusMetrics,
    TaskRegistry,
    TraceContext,
    current_task,
    outbox_values,
    use_trace,
)

POINTS = ("during", "enter", "exit", "trace", "wrong trace", "received", "ended", "count")

TRACE = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

tasks = TaskRegistry()
ran: list[str] = []


@tasks.task(queue="work")
def plain(value: int) -> int:
    ran.append("plain")
    return value


@tasks.task(queue="work")
async def in_steps(value: int) -> int:
    async def step() -> int:
        ran.append("step")
        return value

    return int(await current_task().step("only", step))


@pytest.fixture(autouse=True)
def forgotten() -> None:
    ran.clear()


class Raising:
    """Raises at one point of each operation. It is the telemetry and its activity."""

    def __init__(self, point: str) -> None:
        self._point = point

    def _at(self, point: str) -> None:
        if self._point == point:
            raise RuntimeError(f"on purpose:\n{point}")

    def during(self, *of: Any, **facts: Any) -> Any:
        self._at("during")
        return self

    def count(self, *of: Any) -> None:
        self._at("count")

    def delayed(self, *of: Any) -> None:
        self._at("delayed")

    def __enter__(self) -> Any:
        self._at("enter")
        return self

    def __exit__(self, *ended: object) -> bool:
        self._at("exit")
        return True  # suppresses the exception of the operation

    @property
    def trace(self) -> Any:
        self._at("trace")
        return object() if self._point == "wrong trace" else None

    def received(self, *of: Any) -> None:
        self._at("received")

    def ended(self, *of: Any) -> None:
        self._at("ended")


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [one for one in caplog.records if one.name == "holdfast.telemetry"]


@pytest.mark.parametrize("point", POINTS)
def test_operations_succeed(site: Site, point: str, caplog: pytest.LogCaptureFixture) -> None:
    telemetry: Any = Raising(point)
    with Holdfast.from_url(site.url, namespace=site.namespace, telemetry=telemetry) as hf:
        handles = hf.enqueue_many([plain.call(1), in_steps.call(2)])
        handles.append(hf.enqueue(plain.call(3)))
        hf.worker(tasks).run(until_idle=True)
        assert [one.result(timeout=0) for one in handles] == [1, 2, 3]
        assert hf.queue("work").stats().dead == 0
        with hf.lock("own").hold(timeout=60), pytest.raises(LockTimeout):
            hf.lock("own").acquire(timeout=0.01)
        with hf.lock("own").hold(timeout=0):  # it was given back
            pass
        hf.mailbox("jack").send("sold", sender="market")
        [message] = hf.mailbox("jack").fetch().messages
        assert isinstance(message, Message)
        assert message.body == "sold"

        @hf.cached(ttl=60)
        def doubled(value: int) -> int:
            return 2 * value

        assert [doubled(4), doubled(4)] == [8, 8]
    assert sorted(ran) == ["plain", "plain", "step"]
    [warning] = warnings_of(caplog)
    assert "\n" not in warning.getMessage()
    assert warning.exc_info is None


def test_an_asyncio_client_is_guarded(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        telemetry: Any = Raising("ended")
        async with AsyncHoldfast.from_url(
            site.url, namespace=site.namespace, telemetry=telemetry
        ) as hf:
            async with hf.lock("own").hold(timeout=60):
                pass
            async with hf.lock("own").hold(timeout=0):
                pass
            with pytest.raises(ZeroDivisionError):
                async with hf.lock("own").hold(timeout=60):
                    raise ZeroDivisionError

    asyncio.run(main())
    assert len(warnings_of(caplog)) == 1


def test_tasks_continue_the_current_trace(site: Site) -> None:
    telemetry: Any = Raising("trace")
    with (
        Holdfast.from_url(site.url, namespace=site.namespace, telemetry=telemetry) as hf,
        use_trace(TRACE),
    ):
        hf.mailbox("jack").send("sold", sender="market")
        [message] = hf.mailbox("jack").fetch().messages
    assert isinstance(message, Message)
    assert message.trace == TRACE


@pytest.mark.parametrize("point", ["during", "exit", "trace"])
def test_the_outbox_is_guarded(point: str, caplog: pytest.LogCaptureFixture) -> None:
    telemetry: Any = Raising(point)
    assert Outbox(MetaData(), telemetry=telemetry)
    assert outbox_values(plain.call(1), telemetry)["task"].endswith("plain")
    assert len(warnings_of(caplog)) == 1


def test_metrics_that_cannot_be_stored(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A counter of `prometheus_client` may raise, for example if its folder is missing."""
    telemetry = PrometheusMetrics(CollectorRegistry())
    monkeypatch.setattr("prometheus_client.metrics.Histogram.observe", _full)
    with Holdfast.from_url(site.url, namespace=site.namespace, telemetry=telemetry) as hf:
        handle = hf.enqueue(plain.call(1))
        hf.worker(tasks).run(until_idle=True)
        assert handle.result(timeout=0) == 1
    assert "PrometheusMetrics" in warnings_of(caplog)[0].getMessage()


def _full(*of: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("wrong", [OpenTelemetry, "otel", object(), True])
def test_what_is_no_telemetry_is_refused(site: Site, wrong: Any) -> None:
    with pytest.raises(TypeError, match="telemetry must be an object"):
        Holdfast.from_url(site.url, telemetry=wrong)
    with pytest.raises(TypeError, match="telemetry must be an object"):
        Outbox(MetaData(), telemetry=wrong)
