"""The least that a refresh of rows needs: a script that claims what is due, a query, and one write.

A row that a crash interrupts is lost, and an invalidation is overwritten: it shows what is
possible.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

import sqlalchemy as sa

from ..bare import BareSocket
from .database import STOCK

BATCH: Final = 500
DUE: Final = "bare:due"

CLAIM = """
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local due = redis.call('ZRANGE', KEYS[1], '-inf', ms, 'BYSCORE', 'LIMIT', 0, ARGV[1])
local next = {}
for _, id in ipairs(due) do next[#next + 1] = ms + 10; next[#next + 1] = id end
if #due > 0 then redis.call('ZADD', KEYS[1], unpack(next)) end
return due
"""


class BareRefresher:
    """Rows that are due each 10 ms.

    Args:
        url: of the server.
        engine: of the database.
        ids: of the rows.
    """

    def __init__(self, url: str, engine: sa.Engine, ids: Iterable[int]) -> None:
        self._socket, self._engine = BareSocket(url), engine
        self._claim = self._socket.learn(CLAIM)
        for row_id in ids:
            self._socket.ask("ZADD", DUE, 0, row_id)

    def refresh(self, count: int) -> None:
        """Refresh so many rows."""
        while count > 0:
            due = [*map(int, self._socket.ask("EVALSHA", self._claim, 1, DUE, BATCH))]
            if not due:
                continue
            with self._engine.connect() as connection:
                rows = connection.execute(sa.select(STOCK).where(STOCK.c.id.in_(due)))
                values = [(f"bare:row:{row.id}", json.dumps(row._asdict())) for row in rows]
            self._socket.ask("MSET", *(word for pair in values for word in pair))
            count -= len(due)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
