# Generated from test_listings_async.py by tools/unasync.py: edit that one, then `make sync`.
"""Listings of names: as many as are asked for, and with a text in them."""

from typing import Final

import pytest

from faults.servers import Server
from holdfast import Holdfast

SPACE: Final = "listings"

NAMES: Final = 1_100

KINDS: Final = ("queue", "mailbox", "chat", "row_cache", "feed", "tally", "completions")


def test_all_names_are_listed_that_are_asked_for(standalone: Server) -> None:
    with standalone.client() as client:
        for kind in KINDS:
            names = {f"n{n:04}": 1.0 + n for n in range(NAMES)}
            client.zadd(f"{SPACE}:{{catalog:{kind}}}:names", names)
    with Holdfast.from_url(standalone.url, namespace=SPACE) as hf:
        listings = (hf.queues, hf.mailboxes, hf.chats, hf.row_caches, hf.file_feeds, hf.tallies)
        for names_of in (*listings, hf.known_completions):
            assert len(names_of()) == 1_000
            assert "n0000" not in names_of()
            assert set(names_of(limit=10_000)) == set(names)
            assert len(names_of(limit=3)) == 3
            assert len(names_of(limit=10**9)) == NAMES
            with pytest.raises(ValueError, match="at least 1"):
                names_of(limit=0)


def test_a_search_asks_only_for_what_has_the_text(standalone: Server) -> None:
    with Holdfast.from_url(standalone.url, namespace="searched") as hf:
        hf.counter("Old one").add(1)
        lease = hf.lock("Old one").acquire()
        place = hf.semaphore("Old one", limit=1).acquire()
        with standalone.client() as client:
            for kind in ("counter", "lock", "semaphore"):
                others = {f"n{n}": 1e15 + n for n in range(20)}
                client.zadd(f"searched:{{catalog:{kind}}}:names", {**others, "Old one": 1.0})
        for search in ("old", "D O", "OLD ONE"):
            assert hf.known_counters(among=2, containing=search) == ["Old one"]
            assert list(hf.locks(among=2, containing=search)) == ["Old one"]
            assert list(hf.semaphores(among=2, containing=search)) == ["Old one"]
        assert hf.known_counters(containing="no such") == []
        assert hf.locks(containing="no such") == {}
        assert hf.known_counters(among=2) == []
        lease.release()
        place.release()
