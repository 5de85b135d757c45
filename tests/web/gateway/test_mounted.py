"""The gateway and the dashboard below a path of another application."""

from __future__ import annotations

import re
import secrets

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

from faults.servers import Server
from holdfast import AsyncHoldfast, TaskRegistry
from holdfast.web import Passes, Tokens, dashboard, gateway


async def test_a_gateway_may_be_mounted(standalone: Server) -> None:
    """Paths and odd names are as without; nothing is asked of the application around it."""
    tokens = Tokens(secrets.token_bytes(32))
    async with AsyncHoldfast.from_url(standalone.url, namespace="mounted") as hf:
        app = Starlette(routes=[Mount("/messages", gateway(hf, authenticator=tokens))])
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            base_url="http://localhost",
            headers={"Authorization": f"Bearer {tokens.issue('jill')}"},
        ) as jill:
            sent = await jill.post("/messages/v1/mailboxes/a%2Fb", json="hi")
            assert sent.json() == {"seq": 1}
            assert (await hf.mailbox("a/b").fetch()).messages[0].body == "hi"
            made = await jill.post("/messages/v1/chats", json={"members": [], "body": 1})
            assert made.headers["location"] == f"/messages/v1/chats/{made.json()['id']}"
            assert (await jill.get(f"{made.headers['location']}/history")).status_code == 200
            assert (await jill.get("/messages/chat")).status_code == 200
            assert (await jill.get("/messages/")).headers["location"] == "/messages/chat"


async def test_a_dashboard_may_be_mounted(standalone: Server) -> None:
    """All its links, forms and cookies are below that path; arguments may be left out."""
    passes, registry = Passes(secrets.token_bytes(32)), TaskRegistry()

    @registry.task(queue="email")
    def send(to: str) -> None: ...

    async with AsyncHoldfast.from_url(standalone.url, namespace="mounted-dashboard") as hf:
        await hf.enqueue(send.call("a secret").options(task_id="one"))
        app = Starlette(routes=[Mount("/ops", dashboard(hf, access=passes, arguments=False))])
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://localhost"
        ) as ann:
            assert (await ann.get("/ops/queues")).headers["location"] == (
                "/ops/login?next=%2Fqueues"
            )
            fields = {"pass": passes.issue("ann", "operator")}
            done = await ann.post("/ops/login", data={**fields, "next": "/queues"})
            assert done.headers["location"] == "/ops/queues"
            done = await ann.post("/ops/login", data=fields)
            assert done.headers["location"] == "/ops/"
            assert "Path=/ops/" in done.headers["set-cookie"]
            for path in ("/ops/", "/ops/queues", "/ops/tasks?queue=email"):
                page = await ann.get(path)
                assert page.status_code == 200
                links = re.findall(r'(?:href|src|action|hx-get)="([^"#]+)"', page.text)
                assert [link for link in links if not link.startswith("/ops/")] == []
            for path in ("/ops/tasks?queue=email", "/ops/task?queue=email&id=one"):
                for twin in (path, path.replace("?", ".json?")):
                    assert "secret" not in (await ann.get(twin)).text
