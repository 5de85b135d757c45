"""The gateway below a path of another application."""

from __future__ import annotations

import secrets

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

from faults.servers import Server
from holdfast import AsyncHoldfast
from holdfast.web import Tokens, gateway


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
