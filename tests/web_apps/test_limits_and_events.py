"""Rate limits of routes, events of tasks, and the client of an application."""

import secrets
from asyncio import Event
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.routing import Route

from conftest import Site
from holdfast import AsyncHoldfast, Holdfast, InvalidName, Limit
from holdfast.fastapi import IdempotencyMiddleware, RequestLimit, idempotent_route, lifespan
from holdfast.fastapi.request_limit import parsed_rate
from web_apps.conftest import Service
from web_apps.service import report, tasks


def test_a_limit_counts_both_processes_together(service: Service) -> None:
    user = {"X-User": secrets.token_hex(4)}
    found = [service.clients[n % 2].get("/search", headers=user) for n in range(5)]
    assert [each.status_code for each in found] == [200, 200, 200, 429, 429]
    assert found[0].headers["ratelimit-policy"] == '"requests";q=3;w=3600'
    assert found[0].headers["ratelimit"].startswith('"requests";r=2;')
    assert 3000 < int(found[3].headers["retry-after"]) <= 3600
    assert found[3].headers["ratelimit"].startswith('"requests";r=0;')
    other = service.clients[0].get("/search", headers={"X-User": secrets.token_hex(4)})
    assert other.status_code == 200
    assert service.clients[0].get("/search").status_code == 422  # without the header of the key


def test_rates_as_text() -> None:
    assert parsed_rate("10/minute") == Limit(10, per=60.0)
    assert parsed_rate("1000/6 hours") == Limit(1000, per=21_600.0)
    for wrong in ("10", "10/fortnight", "x/second", "10/0.5 seconds"):
        with pytest.raises(ValueError, match="a rate is written as"):
            parsed_rate(wrong)
    with pytest.raises(ValueError, match="needs a rate"):
        RequestLimit("search")
    with pytest.raises(TypeError, match="give a rate such as 10/minute, or a Limit, got 5"):
        RequestLimit("search", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="required_key"):
        idempotent_route(user=lambda scope: "ann", required_key=True)
    with pytest.raises(TypeError, match="give the namespace"):
        lifespan(AsyncHoldfast.embedded, namespace="x")


def frames(text: str) -> list[dict[str, str]]:
    """Return the frames of a stream as a browser reads them, without comments."""
    found = []
    for block in text.split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n") if not line.startswith(":")]
        frame = {name: value for name, _, value in lines if name}
        if "data" in frame:
            found.append(frame)
    return found


def test_a_browser_follows_a_task(service: Service) -> None:
    """From the beginning to the end, and after a break from the next event on."""
    with Holdfast.from_url(service.url, namespace=service.namespace) as hf:
        handle = hf.enqueue(report.call(3))
        path = f"/tasks/{handle.task_id}/events"
        with service.clients[0].stream("GET", path) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            parts = stream.iter_text()
            text = next(parts)
            while ": ping" not in text:  # it waits, and says so
                text += next(parts)
            hf.worker(tasks).run(until_idle=True)
            text += "".join(parts)
    found = frames(text)
    assert [each["event"] for each in found] == ["progress"] * 3 + ["event", "end"]
    assert [each.get("id") for each in found] == ["1", "2", "3", "4", None]
    assert msgspec.json.decode(found[1]["data"]) == {"done": 2, "total": 3}
    assert msgspec.json.decode(found[3]["data"]) == {"text": "line\nbreak"}
    assert msgspec.json.decode(found[4]["data"]) == {"state": "done"}
    for last, wanted in (("3", ["4", None]), ("x", ["1", "2", "3", "4", None])):
        again = service.clients[1].get(path, headers={"Last-Event-ID": last}).text
        assert [each.get("id") for each in frames(again)] == wanted


def test_a_browser_is_ahead_of_the_server(service: Service) -> None:
    """After a server that lost events, the stream reports it once, and the next events come."""
    with Holdfast.from_url(service.url, namespace=service.namespace) as hf:
        path = f"/tasks/{hf.enqueue(report.call(2)).task_id}/events"
        with service.clients[0].stream("GET", path, headers={"Last-Event-ID": "9000"}) as stream:
            parts = stream.iter_text()
            text = next(parts)
            while text.count(": ping") < 2:
                text += next(parts)
            hf.worker(tasks).run(until_idle=True)
            text += "".join(parts)
    [gap, *rest] = frames(text)
    assert (gap["event"], gap["id"]) == ("gap", "0")
    assert msgspec.json.decode(gap["data"]) == {"first": 1, "last": 9000, "reason": "reset"}
    assert [each.get("id") for each in rest] == ["1", "2", "3", None]


def test_a_task_that_is_not_there_yet(service: Service) -> None:
    """It is awaited, as a task of an outbox; otherwise the stream ends."""
    task_id = secrets.token_hex(8)
    path = f"/tasks/{task_id}/events"
    [end] = frames(service.clients[0].get(path).text)
    assert (end["event"], msgspec.json.decode(end["data"])) == ("end", {"state": "unknown"})
    with (
        Holdfast.from_url(service.url, namespace=service.namespace) as hf,
        service.clients[0].stream("GET", path, params={"wait": 60}) as stream,
    ):
        parts = stream.iter_text()
        text = next(parts)
        while ": ping" not in text:
            text += next(parts)
        hf.enqueue(report.call(1).options(task_id=task_id))
        hf.worker(tasks).run(until_idle=True)
        found = frames("".join(parts))
    assert [each["event"] for each in found] == ["progress", "event", "end"]


async def test_starlette_without_fastapi(site: Site) -> None:
    """The middleware for a whole application, the lifespan, and a state of one's own."""
    ran: list[str] = []

    async def pay(request: Request) -> JSONResponse:
        ran.append((await request.body()).decode())
        assert request.state.holdfast is request.app.state.holdfast
        return JSONResponse({"own": request.state.own})

    @asynccontextmanager
    async def own(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        assert isinstance(app.state.holdfast, AsyncHoldfast)
        yield {"own": 7}

    app = Starlette(
        routes=[Route("/pay", pay, methods=["POST", "GET"])],
        middleware=[Middleware(IdempotencyMiddleware, user=lambda scope: "ann")],
        lifespan=lifespan(site.url, namespace=site.namespace, inner=own),
    )
    async with app.router.lifespan_context(app) as state:
        assert state is not None

        async def with_state(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "state": dict(state)}, receive, send)  # as a server does

        transport = httpx.ASGITransport(with_state)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            headers = {"Idempotency-Key": "a"}
            answers = [await client.post("/pay", content=b"5", headers=headers) for _ in range(2)]
            assert [each.json() for each in answers] == [{"own": 7}] * 2
            assert answers[1].headers["idempotent-replayed"] == "true"
            await client.get("/pay", headers=headers)
            await client.get("/pay", headers=headers)
    assert ran == ["5", "", ""]


@pytest.mark.parametrize("own", ["1", None])
async def test_the_fields_of_an_asgi_application(site: Site, own: str | None) -> None:
    """The key `headers` may be missing, and its value is any iterable."""

    async def bare(scope: Any, receive: Any, send: Any) -> None:
        fields = {"headers": iter([(b"x-own", own.encode())])} if own else {}
        await send({"type": "http.response.start", "status": 200, **fields})
        await send({"type": "http.response.body", "body": b"paid"})

    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        app = IdempotencyMiddleware(bare, user=lambda scope: "ann", hf=hf)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://app",
            headers={"Idempotency-Key": "a"},
        ) as client:
            answers = [await client.post("/pay") for _ in range(2)]
    assert [each.content for each in answers] == [b"paid"] * 2
    assert [each.headers.get("x-own") for each in answers] == [own] * 2


async def test_a_stream_is_stored_before_middleware_compresses_it(site: Site) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"paid, "
        yield b"thank you"

    async def pay(request: Request) -> StreamingResponse:
        return StreamingResponse(parts())

    routes = Starlette(routes=[Route("/", pay, methods=["POST"])])
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        inner = IdempotencyMiddleware(routes, user=lambda scope: "ann", methods=["post"], hf=hf)
        transport = httpx.ASGITransport(GZipMiddleware(inner, minimum_size=1))
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            headers = {"Idempotency-Key": "a"}
            answers = [await client.post("/", headers=headers) for _ in range(2)]
    assert [each.content for each in answers] == [b"paid, thank you"] * 2
    assert answers[1].headers["idempotent-replayed"] == "true"


async def test_a_file_that_the_server_could_send_by_its_path(site: Site, tmp_path: Path) -> None:
    (tmp_path / "receipt").write_bytes(b"paid")

    async def pay(request: Request) -> FileResponse:
        return FileResponse(tmp_path / "receipt")

    routes = Starlette(routes=[Route("/", pay, methods=["POST"])])
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        inner = IdempotencyMiddleware(routes, user=lambda scope: "ann", hf=hf)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await inner(scope | {"extensions": {"http.response.pathsend": {}}}, receive, send)

        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            answers = [await client.post("/", headers={"Idempotency-Key": "a"}) for _ in range(2)]
    assert [each.content for each in answers] == [b"paid"] * 2
    assert answers[1].headers["idempotent-replayed"] == "true"


def test_methods_are_several_names() -> None:
    with pytest.raises(TypeError, match="several names"):
        idempotent_route(user=lambda scope: "ann", methods="POST")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ttl": 0}, "ttl must be longer than 0 seconds"),
        ({"ttl": "1 day"}, "ttl must be seconds or a timedelta, got str"),
        ({"ttl": 400 * 86_400}, "ttl must be at most 366 days"),
        ({"lease": 0.5}, "lease must be at least 1 s"),
        ({"wait": -1}, "wait must be 0 or more, got -1"),
        ({"wait": float("nan")}, "wait must be 0 or more, got nan"),
        ({"wait": float("inf")}, "wait must be at most 366 days"),
        ({"wait": "5"}, "wait must be a number, got str"),
        ({"max_body": -1}, "max_body must be 0 or more"),
        ({"max_body": "1 MiB"}, "max_body must be a number, got str"),
        ({"name": "\ud800"}, "not valid Unicode"),
        ({"name": 5}, "a name must be a str, got int"),
        ({"user": "ann"}, "user must be a function of the scope, got 'ann'"),
        ({"hf": Holdfast}, "hf must be an AsyncHoldfast, got type"),
    ],
    ids=str,
)
def test_wrong_options_fail_at_creation(options: dict[str, Any], message: str) -> None:
    """And not at the first request."""

    def user(scope: Any) -> str:
        return "ann"

    with pytest.raises((TypeError, ValueError), match=message):
        IdempotencyMiddleware(Starlette(), **{"user": user, **options})
    with pytest.raises((TypeError, ValueError), match=message):
        idempotent_route(**{"user": user, **options})


def test_options_may_be_timedeltas() -> None:
    day = timedelta(days=1)
    for wait in (None, 0, day, 366 * day):
        options: Any = {"wait": wait, "ttl": day, "lease": day}
        IdempotencyMiddleware(Starlette(), user=lambda scope: "ann", **options)


def test_wrong_limits_fail_at_creation() -> None:
    with pytest.raises(InvalidName):
        RequestLimit("\ud800", "3/hour")
    with pytest.raises(ValueError, match=r"no cost for a limit with a name, got .*'tokens'"):
        RequestLimit("search", Limit(3, per=60.0, name="tokens"))
    with pytest.raises(ValueError, match="the same name and period"):
        RequestLimit("search", "3/hour", "4/hour")
    RequestLimit("search", Limit(3, per=60.0, name="requests"))


async def test_a_background_task_of_the_response_does_not_hold_the_answer_back(site: Site) -> None:
    ended = Event()

    async def background() -> None:
        await ended.wait()

    async def pay(request: Request) -> JSONResponse:
        return JSONResponse({}, background=BackgroundTask(background))

    route = Route("/", pay, methods=["POST"])
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        app = IdempotencyMiddleware(Starlette(routes=[route]), user=lambda scope: "ann", hf=hf)
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)
            if message["type"] == "http.response.body":
                found = await hf.idempotency("http").begin("a", b"other", user="ann")
                assert found.state == "conflict"  # it is stored, and the task has not ended
                ended.set()

        async def receive() -> Any:
            return {"type": "http.request"}

        headers = [(b"idempotency-key", b"a")]
        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b""}
        await app({**scope, "headers": headers}, receive, send)
    assert [each["type"] for each in sent] == ["http.response.start", "http.response.body"]


async def test_while_the_server_is_away_nothing_runs() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it runs")

    async with AsyncHoldfast.from_url("redis://127.0.0.1:1") as hf:
        guarded = IdempotencyMiddleware(app, user=lambda scope: "ann", hf=hf)
        transport = httpx.ASGITransport(guarded)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            found = await client.post("/", headers={"Idempotency-Key": "a"})
    assert (found.status_code, found.headers["retry-after"]) == (503, "1")
