"""The middleware for ASGI applications, and its header fields."""

from typing import Any

import msgspec
import pytest

from conftest import Site
from faults.proxy import Proxy
from faults.servers import Server
from holdfast import AsyncHoldfast, Holdfast, Limit, RateLimitMiddleware
from holdfast.limits._async.subject import RESERVE
from holdfast.limits.asgi import client_address


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    headers = [(b"x-own", b"1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


class Client:
    """Sends requests to an ASGI application."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def get(self, address: str = "10.0.0.1", kind: str = "http") -> tuple[int, Any, bytes]:
        """Return status, header fields and body."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app({"type": kind, "client": (address, 1), "path": "/"}, None, send)
        if not sent:
            return 0, {}, b""
        return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


async def test_two_processes_admit_together_what_one_would(site: Site) -> None:
    """Two clients with connections of their own, as two processes have."""
    async with (
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as one,
        AsyncHoldfast.from_url(site.url, namespace=site.namespace) as other,
    ):
        clients = [
            Client(
                RateLimitMiddleware(application, limiter=hf.rate_limit("web", Limit(5, per=60.0)))
            )
            for hf in (one, other)
        ]
        statuses = [(await clients[n % 2].get())[0] for n in range(8)]
        assert statuses == [200] * 5 + [429] * 3
        assert (await clients[0].get("10.0.0.2"))[0] == 200
        assert (await clients[0].get(kind="lifespan"))[0] == 0


async def test_header_fields_and_the_problem(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        limits = (Limit(1, per=60.0), Limit(10, per=1.5, name="bytes"))
        app = RateLimitMiddleware(
            application,
            limiter=hf.rate_limit("web", *limits),
            subject=lambda scope: "ann",
            costs=lambda scope: {"bytes": 4},
        )
        status, fields, body = await Client(app).get()
        assert (status, fields[b"x-own"], body) == (200, b"1", b"hello")
        assert fields[b"ratelimit-policy"] == b'"requests";q=1;w=60, "bytes";q=10;w=2'
        assert fields[b"ratelimit"] == b'"requests";r=0;t=60, "bytes";r=6;t=2'
        status, fields, body = await Client(app).get()
        assert status == 429
        assert 50 < int(fields[b"retry-after"]) <= 60
        assert fields[b"content-type"] == b"application/problem+json"
        problem = msgspec.json.decode(body)
        assert (problem["status"], problem["title"]) == (429, "Too Many Requests")


async def test_a_request_that_could_never_pass_is_refused(site: Site) -> None:
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        limiter = hf.rate_limit("web", Limit(5, per=60.0))
        app = RateLimitMiddleware(application, limiter=limiter, costs=lambda scope: 6)
        status, fields, body = await Client(app).get()
        problem = msgspec.json.decode(body)
        assert (status, problem["title"]) == (413, "Content Too Large")
        assert "a cost of 6 never fits" in problem["detail"]
        assert b"retry-after" not in fields
        assert (await limiter.of("10.0.0.1").peek()).remaining == {"requests": 5}


async def test_a_message_that_the_application_sends_again_has_the_fields_once(site: Site) -> None:
    start = {"type": "http.response.start", "status": 200}

    async def constant(scope: Any, receive: Any, send: Any) -> None:
        await send(start)
        await send({"type": "http.response.body", "body": b"hello"})

    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        client = Client(
            RateLimitMiddleware(constant, limiter=hf.rate_limit("web", Limit(5, per=60)))
        )
        for _ in range(2):
            assert list((await client.get())[1]) == [b"ratelimit-policy", b"ratelimit"]
    assert start == {"type": "http.response.start", "status": 200}


async def test_wrong_options_fail_at_creation(site: Site) -> None:
    """And not at the first request."""
    with (
        Holdfast.from_url(site.url) as blocking,
        pytest.raises(TypeError, match=r"from AsyncHoldfast\.rate_limit, got RateLimiter"),
    ):
        RateLimitMiddleware(
            application,
            limiter=blocking.rate_limit("web", Limit(5, per=60.0)),  # type: ignore[arg-type]
        )
    async with AsyncHoldfast.from_url(site.url) as hf:
        limiter = hf.rate_limit("web", Limit(5, per=60.0))
        options: Any
        for options in ({"subject": "ann"}, {"costs": 3}):
            with pytest.raises(TypeError, match="must be a function of the scope"):
                RateLimitMiddleware(application, limiter=limiter, **options)
        tokens = hf.rate_limit("web", Limit(5, per=60.0, name="tokens"))
        with pytest.raises(ValueError, match="give the cost of 'tokens'"):
            RateLimitMiddleware(application, limiter=tokens)
        app = RateLimitMiddleware(application, limiter=tokens, costs=lambda scope: {"tokens": 1})
        assert (await Client(app).get())[0] == 200


@pytest.mark.parametrize(("unavailable", "wanted"), [("allow", 200), ("refuse", 503)])
async def test_a_server_that_cannot_be_reached(
    standalone: Server, unavailable: Any, wanted: int
) -> None:
    with Proxy(standalone.address) as proxy:
        async with AsyncHoldfast.from_url(f"{proxy.url}?socket_timeout=0.5") as hf:
            limiter = hf.rate_limit("web", Limit(1, per=60.0))
            app = RateLimitMiddleware(application, limiter=limiter, unavailable=unavailable)
            with proxy.refuse():
                assert (await Client(app).get())[0] == wanted


@pytest.mark.parametrize(("unavailable", "wanted"), [("allow", 200), ("refuse", 503)])
async def test_a_server_with_lost_replies(
    proxy: Proxy, standalone: Server, unavailable: Any, wanted: int
) -> None:
    url = f"{proxy.url}?socket_timeout=0.5"
    async with AsyncHoldfast.from_url(url, namespace=f"lost-{unavailable}") as hf:
        limiter = hf.rate_limit("web", Limit(9, per=60.0))
        app = RateLimitMiddleware(application, limiter=limiter, unavailable=unavailable)
        assert (await Client(app).get())[0] == 200
        proxy.drop_replies(1000, match=RESERVE.sha1.encode())
        assert (await Client(app).get())[0] == wanted


@pytest.mark.parametrize(
    ("host", "subject"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8::1", "2001:db8::/64"),
        ("/run/app.sock", "/run/app.sock"),
        ("", ""),
    ],
)
def test_an_address_is_a_subject(host: str, subject: str) -> None:
    assert client_address({"client": (host, 1)}) == subject
    assert client_address({}) == ""
