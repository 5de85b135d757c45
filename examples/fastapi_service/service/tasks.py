"""The tasks, for `holdfast worker service.tasks:tasks`."""

from __future__ import annotations

import asyncio

from holdfast import Retry, TaskRegistry, current_task

from .database import Order, sessions

STEPS = ("address", "taxes", "total")

tasks = TaskRegistry()


@tasks.task(queue="invoices", retry=Retry(attempts=5, backoff=1.0))
async def write_invoice(order_id: int) -> str:
    """Write the invoice of an order. To run it again changes nothing."""
    for done, step in enumerate(STEPS, start=1):
        await asyncio.sleep(0.02)  # the work
        current_task().progress(done, len(STEPS), step)
    async with sessions.begin() as session:
        order = await session.get_one(Order, order_id)
        order.invoice = f"invoice {order.id}: {order.item} for {order.customer}"
        return order.invoice
