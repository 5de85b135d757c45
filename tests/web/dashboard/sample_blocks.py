"""Something to look at in every other block, under names that try to be HTML."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from faults.waiting import eventually
from holdfast import Counted, Holdfast, Lease, Limit, LocalFiles

HOSTILE: Final = "<img src=x onerror=\"document.title='owned'\">"

DAY: Final = "2011-10-10"

QUERIES: Final[dict[str, list[dict[str, str]]]] = {
    "locks": [{}, {"q": HOSTILE}],
    "lock": [{"name": HOSTILE}, {"name": f"{HOSTILE} free"}],
    "rw-locks": [{}, {"q": HOSTILE}],
    "rw-lock": [{"name": HOSTILE}, {"name": f"{HOSTILE} read"}, {"name": f"{HOSTILE} free"}],
    "semaphores": [{}, {"q": HOSTILE}],
    "semaphore": [{"name": HOSTILE}, {"name": f"{HOSTILE} free"}],
    "limits": [{}, {"q": HOSTILE}],
    "limit": [
        {"name": HOSTILE},
        {"name": HOSTILE, "subject": HOSTILE},
        {"name": f"{HOSTILE} none"},
    ],
    "mailboxes": [{}, {"q": HOSTILE}],
    "mailbox": [{"name": HOSTILE}, {"name": f"{HOSTILE} empty"}],
    "chats": [{}, {"q": HOSTILE}],
    "chat": [{"id": HOSTILE}, {"id": "keeps"}, {"id": f"{HOSTILE} gone"}],
    "counters": [{}, {"q": HOSTILE}],
    "counter": [
        {"name": HOSTILE},
        {"name": HOSTILE, "precision": "86400", "last": "500"},
        {"name": f"{HOSTILE} none"},
    ],
    "completions": [
        {},
        {"name": HOSTILE, "q": "<"},
        {"name": HOSTILE, "q": f"{HOSTILE} none"},
        {"name": HOSTILE, "kind": "recent"},
        {"name": f"{HOSTILE} none", "kind": "recent"},
    ],
    "functions": [{}, {"q": HOSTILE}],
    "function": [{"name": HOSTILE}, {"name": f"{HOSTILE} none"}],
    "rows": [{}, {"q": HOSTILE}],
    "cache": [
        {"name": HOSTILE},
        {"name": HOSTILE, "id": HOSTILE},
        {"name": HOSTILE, "id": '["eu", 7]'},
        {"name": f"{HOSTILE} none", "id": "1"},
    ],
    "feeds": [{}, {"q": HOSTILE}],
    "feed": [{"name": HOSTILE}, {"name": f"{HOSTILE} share"}, {"name": f"{HOSTILE} none"}],
    "tallies": [{}, {"q": HOSTILE}],
    "tally": [
        {"name": HOSTILE},
        {"name": HOSTILE, "day": DAY, "dimension": HOSTILE, "limit": "500"},
        {"name": HOSTILE, "day": DAY, "dimension": "none"},
        {"name": f"{HOSTILE} none"},
    ],
}
"""What each page is asked for."""


_held: list[Lease] = []
"""Leases kept alive: a lease that is garbage-collected warns that it was not released."""


class Source:
    """Source of rows; the row `bad` cannot be read."""

    def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
        """Return each row, and an error for the row `bad`."""
        row, error = {HOSTILE: HOSTILE}, ValueError(HOSTILE)
        return {each: error if each == "bad" else {"id": each, **row} for each in ids}


def fill_blocks(hf: Holdfast) -> None:
    """Put something into each."""
    fill_locks(hf)
    fill_limits(hf)
    fill_messages(hf)
    fill_data(hf)
    fill_functions(hf)
    fill_logs(hf)
    # What is held for a while is listed.
    eventually(lambda: hf.locks() and hf.semaphores() and len(hf.rw_locks()) == 2)


def fill_locks(hf: Holdfast) -> None:
    """Held until the client is closed."""
    _held.append(hf.lock(HOSTILE).acquire())
    _held.append(hf.rw_lock(HOSTILE).acquire_write())
    _held.append(hf.rw_lock(f"{HOSTILE} read").acquire_read())
    _held.append(hf.semaphore(HOSTILE, limit=2).acquire())


def fill_limits(hf: Holdfast) -> None:
    """Use up one limit, also of a subject."""
    limiter = hf.rate_limit(HOSTILE, Limit(1, per=3600.0), Limit(90, per=60.0, name="tokens"))
    for each in (limiter, limiter.of(HOSTILE)):
        each.try_acquire({"tokens": 7})


def fill_messages(hf: Holdfast) -> None:
    """Read by some."""
    box = hf.mailbox(HOSTILE, capacity=5)
    for body in (HOSTILE, {HOSTILE: [HOSTILE]}, b"\x00\x01", "x" * 600, 5):
        box.send(body, sender=HOSTILE)
    everybody = [HOSTILE, "jill", "jack"]
    hf.create_chat(everybody, sender=HOSTILE, body=HOSTILE, chat_id=HOSTILE, keep="until_read")
    chat = hf.create_chat(everybody, sender=HOSTILE, body=1, chat_id="keeps", keep=2)
    for number in range(5):
        chat.send(number, sender="jill")


def fill_data(hf: Holdfast) -> None:
    """Counts, names and rows."""
    hf.counter(HOSTILE).add(7)
    hf.completions(HOSTILE).add(HOSTILE, id=HOSTILE)
    hf.recent(HOSTILE).touch(HOSTILE)
    cache = hf.row_cache(HOSTILE, source=Source())
    cache.schedule_many({HOSTILE: 60.0, ("eu", 7): 60.0, "bad": 60.0})
    cache.refresh_due()


def fill_functions(hf: Holdfast) -> None:
    """Call a cached function, also one that fails."""

    @hf.cached(ttl=600.0, name=HOSTILE, tags=[HOSTILE])
    def function(n: int) -> int:
        return 1 // n

    for n in (1, 1, 0):
        with suppress(ZeroDivisionError):
            function(n)
    assert function.status() is not None


def fill_logs(hf: Holdfast) -> None:
    """Files on their way, and what was counted in others."""
    feed = hf.file_feed(HOSTILE, consumers=[HOSTILE, "geo"])
    feed.publish(io.BytesIO(b"line\n"), name=HOSTILE)
    hf.file_feed(f"{HOSTILE} share", mode="share").publish(io.BytesIO(b"line\n"), name=HOSTILE)
    [*files] = feed.consumer("geo").files(timeout=0)
    assert [file.name for file in files] == [HOSTILE]
    with TemporaryDirectory() as folder:
        (Path(folder) / "a.log").write_text(f"{HOSTILE}\n{HOSTILE} rejected\n")
        hf.tally(HOSTILE).aggregate(LocalFiles(folder), key=counted)


def counted(line: bytes) -> Counted | None:
    """Most lines."""
    text = line.decode()
    return None if text.endswith("rejected") else Counted(DAY, {HOSTILE: text})
