"""An application that reports to Sentry: `program.py URL NAMESPACE`.

It takes a request of FastAPI, enqueues tasks, and is their worker.
"""

import asyncio
import sys

import httpx
import sentry_sdk
from fastapi import FastAPI

from holdfast import AsyncHoldfast, Holdfast, TaskRegistry
from with_sentry import tasks as own
from with_sentry.tasks import tasks

TRACE = "771a43a4192642f0b136d5159a501700"


async def request(url: str, namespace: str) -> None:
    """Enqueue a task in a request of FastAPI that is in a trace."""
    app = FastAPI()

    @app.post("/orders")
    async def order() -> dict[str, str]:
        async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
            handle = await hf.enqueue(own.well.call(1))
        return {"task": handle.task_id}

    headers = {"sentry-trace": f"{TRACE}-a1b2c3d4e5f60718-1", "baggage": "sentry-release=7"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
        response = await client.post("/orders", headers=headers)
    assert response.status_code == 200


def replayed(hf: Holdfast) -> None:
    """Let a task fail, and again after a release that its arguments do not fit."""

    async def before(text: str) -> None:
        raise ValueError("before")

    async def after(number: int) -> None: ...

    for n, function in enumerate((before, after)):
        release = TaskRegistry(middleware=[own.sentry])
        task = release.task(queue="released", name="released", retry=own.ONCE)(function)
        if n == 0:
            hf.enqueue(task.call("no number"))
        else:
            assert hf.queue("released").replay() == 1
        hf.worker(release).run(until_idle=True)


if __name__ == "__main__":
    url, namespace = sys.argv[1:]
    asyncio.run(request(url, namespace))
    with Holdfast.from_url(url, namespace=namespace) as hf:
        hf.enqueue_many([own.fail_async.call(n) for n in range(8)])
        hf.enqueue_many([own.fail_plain.call(n) for n in range(8)])
        hf.enqueue_many([task.call() for task in own.OTHERS])
        for count in (31, 32):  # of at most 32 headers
            headers = {f"own-{n}": "x" for n in range(count)}
            hf.enqueue(own.well.call(count).options(headers=headers))
        worker = hf.worker(tasks, queues={"q": 1}, concurrency=8)
        wrong = TaskRegistry()

        @wrong.task(queue="q", name="typed")
        def other(text: str) -> None: ...

        hf.enqueue(other.call("no number"))
        worker.run(until_idle=True)
        replayed(hf)
        hf.enqueue(own.endless.call())
        own.stopping.append(hf.worker(tasks, queues={"stopped": 1}, grace=0.2))
        own.stopping[0].run()
    sentry_sdk.flush()
