"""The loop of "Redis in Action" (listings 2.7 and 2.8), with SQLAlchemy for its database."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import redis
import sqlalchemy as sa

from .database import STOCK

_NAP_S: Final = 0.05


def schedule(client: redis.Redis, row_id: int, delay_s: float) -> None:
    """Have a row refreshed."""
    client.zadd("delay:", {str(row_id): delay_s})
    client.zadd("schedule:", {str(row_id): time.time()})


def refresh(client: Any, engine: sa.Engine, count: int) -> None:
    """Refresh *count* rows, one after the other."""
    while count:
        first = client.zrange("schedule:", 0, 0, withscores=True)
        now = time.time()
        if not first or first[0][1] > now:
            time.sleep(_NAP_S)
            continue
        row_id = first[0][0]
        delay = client.zscore("delay:", row_id)
        if delay <= 0:
            client.zrem("delay:", row_id)
            client.zrem("schedule:", row_id)
            client.delete(f"inv:{row_id}")
            continue
        with engine.connect() as connection:
            row = connection.execute(sa.select(STOCK).where(STOCK.c.id == int(row_id))).one()
        client.zadd("schedule:", {row_id: now + delay})
        client.set(f"inv:{row_id}", json.dumps(row._asdict()))
        count -= 1
