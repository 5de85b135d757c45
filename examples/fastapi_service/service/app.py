"""The web process, for `uvicorn service.app:app`."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from pydantic import BaseModel
from starlette.types import Scope

from holdfast.fastapi import Client, RequestLimit, idempotent_route, lifespan, task_events

from .database import Order, create_tables, engine, outbox, sessions
from .tasks import write_invoice

USERS = {"token-of-ann": "ann", "token-of-bea": "bea"}
"""Your service authenticates in its own way."""


def user_of(scope: Scope) -> str | None:
    """Return the user of a request; None if it is not authenticated."""
    authorization = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    return USERS.get(authorization.removeprefix("Bearer "))


def current_user(request: Request) -> str:
    """Return the user of a request, or refuse it."""
    user = user_of(request.scope)
    if user is None:
        raise HTTPException(401, "send a token", {"WWW-Authenticate": "Bearer"})
    return user


User = Annotated[str, Depends(current_user)]


class NewOrder(BaseModel):
    """What a user orders."""

    item: str


class OrderView(BaseModel):
    """An order as its user sees it."""

    id: int
    item: str
    invoice: str


@asynccontextmanager
async def database(_app: Any) -> AsyncGenerator[Mapping[str, Any]]:
    """Create the tables, and close all connections at the end."""
    await create_tables()
    yield {}
    await engine.dispose()


app = FastAPI(
    title="Orders",
    lifespan=lifespan(
        os.environ.get("HOLDFAST_URL", "redis://localhost:6379"),
        namespace=os.environ.get("HOLDFAST_NAMESPACE", "orders"),
        inner=database,
    ),
)
orders = APIRouter(route_class=idempotent_route(user=user_of, required=True))
per_user = RequestLimit("orders", "10/minute", key=current_user)


@orders.post("/orders", status_code=201, dependencies=[Depends(per_user)])
async def create(new: NewOrder, user: User) -> OrderView:
    """Store an order and the task of its invoice in one transaction."""
    async with sessions.begin() as session:
        order = Order(customer=user, item=new.item, invoice="")
        session.add(order)
        await session.flush()
        order.task_id = await outbox.enqueue(session, write_invoice.call(order.id))
    return OrderView(id=order.id, item=order.item, invoice=order.invoice)


@app.get("/orders/{order_id}")
async def show(order_id: int, user: User) -> OrderView:
    """Return an order of the user."""
    order = await found(order_id, user)
    return OrderView(id=order.id, item=order.item, invoice=order.invoice)


@app.get("/orders/{order_id}/events")
async def events(order_id: int, user: User, request: Request, hf: Client) -> Response:
    """Follow the invoice of an order; see `new EventSource(…)` in a browser."""
    order = await found(order_id, user)
    return task_events(request, hf.queue("invoices").handle(order.task_id), wait=60.0)


async def found(order_id: int, user: str) -> Order:
    """Return the order, if it belongs to the user."""
    async with sessions() as session:
        order = await session.get(Order, order_id)
    if order is None or order.customer != user:
        raise HTTPException(404, "there is no such order")
    return order


@app.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answer the probes of this process."""
    return {"status": "ok"}


app.include_router(orders)
