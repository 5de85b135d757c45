"""The tasks of the shop, for `holdfast worker shop.tasks:tasks`."""

from __future__ import annotations

import logging

from holdfast import Retry, TaskRegistry

logger = logging.getLogger("shop")

tasks = TaskRegistry()


@tasks.task(queue="email", retry=Retry(attempts=5, backoff=2.0))
def send_receipt(order: int) -> str:
    """Send the receipt of an order. Here it only writes a line into the log."""
    logger.info("receipt of order %d", order)
    return f"sent receipt of order {order}"
