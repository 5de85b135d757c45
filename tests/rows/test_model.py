"""A row cache agrees with a dictionary after any sequence of operations."""

import secrets
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast import Holdfast, RowCache
from rows.table import Table

IDS = st.sampled_from([1, "1", (1, "a"), 2, "two words"])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["write", "delete", "schedule", "unschedule", "invalidate", "refresh", "read", "look"]
        ),
        IDS,
    ),
    max_size=25,
)
LONG_S = 100_000


class Model:
    """What is cached, scheduled and due; and the cache that must be the same."""

    def __init__(self, cache: RowCache, table: Table) -> None:
        self.cache = cache
        self.table = table
        self.cached: dict[Any, Any] = {}
        self.scheduled: set[Any] = set()
        self.due: set[Any] = set()

    def write(self, row_id: Any) -> None:
        self.table.rows[row_id] = {"v": secrets.token_hex(4)}

    def delete(self, row_id: Any) -> None:
        self.table.rows.pop(row_id, None)

    def schedule(self, row_id: Any) -> None:
        self.cache.schedule(row_id, every=LONG_S)
        self.due |= {row_id} - self.scheduled
        self.scheduled.add(row_id)

    def unschedule(self, row_id: Any) -> None:
        self.cache.unschedule(row_id)
        self.scheduled.discard(row_id)
        self.due.discard(row_id)
        self.cached.pop(row_id, None)

    def invalidate(self, row_id: Any) -> None:
        self.cache.invalidate(row_id)
        self.cached.pop(row_id, None)
        self.due |= {row_id} & self.scheduled

    def refresh(self, _: Any) -> None:
        assert self.cache.refresh_due().selected == len(self.due)
        self.cached |= {each: self.table.rows.get(each) for each in self.due}
        self.due.clear()

    def read(self, row_id: Any) -> None:
        if row_id not in self.cached:
            self.cached[row_id] = self.table.rows.get(row_id)
            self.due.discard(row_id)
        assert self.cache.get(row_id).value == self.cached[row_id]

    def look(self, row_id: Any) -> None:
        row = self.cache.get(row_id, timeout=0)
        assert (row.state != "uncached") is (row_id in self.cached)
        assert row.value == self.cached.get(row_id)


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(STEPS, st.integers(1, 3))
def test_it_is_what_a_dictionary_would_be(
    hf: Holdfast, steps: list[tuple[str, Any]], shards: int
) -> None:
    table = Table({})
    cache = hf.row_cache(secrets.token_hex(6), source=table, shards=shards)
    model = Model(cache, table)
    for step, row_id in steps:
        getattr(model, step)(row_id)
    assert cache.status().scheduled == len(model.scheduled)
    assert cache.status().due == len(model.due)
