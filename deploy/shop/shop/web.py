"""The web process of the shop, for `uvicorn shop.web:app`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request

from holdfast import AsyncHoldfast, ServerUnavailable

from .tasks import send_receipt


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    """Open one client for the whole process."""
    namespace = os.environ.get("HOLDFAST_NAMESPACE", "holdfast")
    async with AsyncHoldfast.from_url(os.environ["HOLDFAST_URL"], namespace=namespace) as hf:
        app.state.hf = hf
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answer the probes of this process. It is alive also while the server is away."""
    return {"status": "ok"}


@app.post("/orders/{order}", status_code=202)
async def place_order(order: int, request: Request) -> dict[str, str]:
    """Enqueue the receipt of an order."""
    hf: AsyncHoldfast = request.app.state.hf
    try:
        handle = await hf.enqueue(send_receipt.call(order))
    except ServerUnavailable:
        raise HTTPException(503, "try again later") from None
    return {"task": handle.task_id}
