"""The application of these tests: `uvicorn web_apps.service:app`."""

import asyncio
import os
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request, Response
from starlette.types import Scope

from holdfast import TaskRegistry, current_task
from holdfast.fastapi import Client, RequestLimit, idempotent_route, lifespan, task_events

EFFECTS = Path(os.environ.get("EFFECTS", os.devnull))

tasks = TaskRegistry()


@tasks.task(queue="reports")
async def report(pages: int) -> str:
    task = current_task()
    for page in range(1, pages + 1):
        task.progress(page, pages)
    task.emit({"text": "line\nbreak"})
    return "done"


def note(order: str) -> None:
    """Have an effect."""
    with EFFECTS.open("a") as file:
        file.write(f"{order}\n")


def count(order: str) -> int:
    return EFFECTS.read_text().splitlines().count(order)


def user_of(scope: Scope) -> str | None:
    """Return the user; in a real application it would be authenticated."""
    found: bytes | None = dict(scope["headers"]).get(b"x-user")
    return None if found is None else found.decode()


def current_user(x_user: Annotated[str, Header()]) -> str:
    return x_user


payments = APIRouter(route_class=idempotent_route(user=user_of, name="p", required=True, lease=2.0))
patient = APIRouter(route_class=idempotent_route(user=user_of, name="w", wait=60.0), prefix="/wait")


@payments.post("/pay", status_code=201)
@patient.post("/pay", status_code=201)
async def pay(request: Request, response: Response, status: int = 201, slow: float = 0.0) -> Any:
    """Have an effect, and answer with its number."""
    body = await request.json()
    note(body["order"])
    await asyncio.sleep(slow)
    if status == 599:
        raise ZeroDivisionError
    if status >= 400:
        raise HTTPException(status, "it is refused")
    response.headers["x-own"] = "kept"
    order, filler = body["order"], "x" * body.get("filler", 0)
    return {"order": order, "number": count(order), "filler": filler}


search = RequestLimit("search", "3/hour", key=current_user)

app = FastAPI(
    lifespan=lifespan(
        os.environ.get("REDIS", "redis://localhost"), namespace=os.environ.get("NAMESPACE", "apps")
    )
)
app.include_router(payments)
app.include_router(patient)


@app.get("/search", dependencies=[Depends(search)])
async def found() -> list[str]:
    return ["a"]


@app.get("/tasks/{task_id}/events")
async def events(task_id: str, request: Request, hf: Client, wait: float = 0.0) -> Response:
    return task_events(request, hf.queue("reports").handle(task_id), ping=0.5, wait=wait)
