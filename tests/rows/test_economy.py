"""What a row cache costs: seen by MONITOR, and by clocks with room to spare."""

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, OutcomeUnknown
from holdfast.core import layout
from holdfast.core.names import Namespace
from holdfast.rows._sync import row_store
from rows.running import running
from rows.table import Table


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


def monitored(server: Server, namespace: str, until: str) -> tuple[list[str], threading.Thread]:
    """Commands that name the namespace, up to one that holds *until*; filled by a thread."""
    lines: list[str] = []
    ready = threading.Event()

    def watch() -> None:
        with server.client().monitor() as monitor:
            ready.set()
            for command in monitor.listen():
                if until in command["command"]:
                    return
                if namespace in command["command"]:
                    lines.append(command["command"])

    thread = threading.Thread(target=watch)
    thread.start()
    assert ready.wait(60)
    time.sleep(0.1)
    return lines, thread


def test_an_unchanged_row_is_not_written(hf: Holdfast, standalone: Server) -> None:
    table = Table({n: {"n": n} for n in range(20)})
    cache = hf.row_cache("stock", source=table)
    cache.schedule_many(dict.fromkeys(range(20), 0.05))
    assert cache.refresh_due().stored == 20
    lines, watching = monitored(standalone, hf.namespace, "the-end")
    unchanged = 0
    while unchanged < 60:
        unchanged += cache.refresh_due().unchanged
    table.rows[7] = {"n": 700}
    eventually(lambda: cache.refresh_due().stored)
    standalone.execute("ECHO", "the-end")
    watching.join(60)
    verbs = [line.split()[0].upper() for line in lines if ":row:" in line]
    written = [verb for verb in verbs if verb not in ("GET", "EVALSHA", "EVAL")]
    assert written == ["SET"]


def test_large_rows_come_in_several_answers(hf: Holdfast, standalone: Server) -> None:
    table = Table({n: {"n": n, "text": "x" * 700_000} for n in range(20)})
    cache = hf.row_cache("stock", source=table)
    cache.get_many(range(20))
    lines, watching = monitored(standalone, hf.namespace, "the-end")
    assert [row.value["n"] for row in cache.get_many(range(20)).values()] == list(range(20))
    standalone.execute("ECHO", "the-end")
    watching.join(60)
    assert len([line for line in lines if line.split()[0].upper() == "EVALSHA"]) == 4
    assert table.count() == 20


def test_a_refresh_is_two_calls(hf: Holdfast, standalone: Server) -> None:
    table = Table({n: {"n": n} for n in range(1000)})
    cache = hf.row_cache("stock", source=table)
    cache.schedule_many(dict.fromkeys(range(1000), 10_000))
    assert cache.refresh_due().selected == 500  # the scripts are known now
    lines, watching = monitored(standalone, hf.namespace, "the-end")
    assert cache.refresh_due().selected == 500
    standalone.execute("ECHO", "the-end")
    watching.join(60)
    calls = [line for line in lines if line.split()[0].upper() == "EVALSHA"]
    assert len(calls) == 2
    assert [len(asked) for asked in table.asked] == [500, 500]


def test_refreshes_of_many_rows_spread_over_time(hf: Holdfast, standalone: Server) -> None:
    cache = hf.row_cache("stock", source=Table({n: {"n": n} for n in range(200)}))
    cache.schedule_many(dict.fromkeys(range(200), 1000))
    began = standalone.execute("TIME")[0]
    assert cache.refresh_due().stored == 200
    key = f"{hf.namespace}:{{rows:stock/0}}:due"
    due = standalone.client().zrange(key, 0, -1, withscores=True)
    waits_s = [float(score) / 1000 - began for _, score in due]
    assert 899 < min(waits_s) < 950
    assert 1050 < max(waits_s) < 1200


def test_an_idle_refresher_is_quiet(hf: Holdfast, standalone: Server) -> None:
    cache = hf.row_cache("stock", source=Table({1: {"n": 1}}), shards=16)
    cache.schedule(1, every=10_000)
    with running(cache) as begun:
        begun()
        eventually(lambda: cache.get(1, timeout=0).state == "fresh")

        def commands() -> int:
            found: Any = standalone.client().info("commandstats")
            return sum(
                stats["calls"]
                for name, stats in found.items()
                if name in ("cmdstat_evalsha", "cmdstat_ping", "cmdstat_eval")
            )

        def is_quiet() -> bool:
            """Return whether the server gets almost no commands for three seconds."""
            before = commands()
            time.sleep(3)
            return commands() - before <= 8

        eventually(is_quiet)


def test_a_due_row_is_selected_in_time(hf: Holdfast) -> None:
    late: list[float] = []

    class Clocked:
        due_at = 0.0

        def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
            if self.due_at:
                late.append(time.monotonic() - self.due_at)
            self.due_at = 0.0
            return {row_id: {"n": 1} for row_id in ids}

    source = Clocked()
    cache = hf.row_cache("stock", source=source)
    with running(cache) as begun:
        begun()
        for n in range(10):
            time.sleep(0.02)
            source.due_at = time.monotonic()
            cache.schedule(n, every=10_000)
            eventually(lambda n=n: len(late) > n)  # type: ignore[misc]
    assert sorted(late)[len(late) // 2] < 1.0


def test_lost_replies(standalone: Server, proxy: Proxy) -> None:
    namespace = secrets.token_hex(4)
    with (
        Holdfast.from_url(f"{proxy.url}?socket_timeout=30", namespace=namespace) as hf,
        Holdfast.from_url(standalone.url, namespace=namespace) as other,
    ):
        cache = hf.row_cache("stock", source=Table({1: {"n": 1}}))
        cache.schedule(1, every=100)
        for lose in (proxy.drop_reply, proxy.drop_request):
            lose(match=row_store.SCHEDULE.sha1.encode())
            with pytest.raises(OutcomeUnknown) as lost:
                cache.schedule_many({2: 100, 3: 100})
            lost.value.repeat()
            assert cache.status().scheduled == 3
            other.row_cache("stock").unschedule(2)
            lost.value.repeat()
            assert cache.status().scheduled == 2
            cache.unschedule(3)
        proxy.drop_reply(match=row_store.UNSCHEDULE.sha1.encode())
        with pytest.raises(OutcomeUnknown) as lost:
            cache.unschedule(1)
        lost.value.repeat()
        assert cache.status().scheduled == 0


def test_a_lost_reply_to_what_is_harmless(standalone: Server, proxy: Proxy) -> None:
    with Holdfast.from_url(f"{proxy.url}?socket_timeout=30", namespace=secrets.token_hex(4)) as hf:
        table = Table({1: {"n": 1}})
        cache = hf.row_cache("stock", source=table, lease=1.0)
        cache.schedule(2, every=0.01)
        cache.refresh_due()
        cache.get(1)
        cache.invalidate(1)
        for script in (row_store.COMMIT, row_store.CLAIM_MISSING, row_store.INVALIDATE):
            fault = proxy.drop_reply(match=script.sha1.encode())
            assert cache.get(1).value == {"n": 1}
            cache.invalidate(1)
            assert fault.fired == 1
        fault = proxy.drop_reply(match=row_store.CLAIM_DUE.sha1.encode())
        cache.refresh_due()
        assert fault.fired == 1
        eventually(lambda: cache.refresh_due().selected)  # when the lost lease ends


def test_every_key_expires(hf: Holdfast, standalone: Server) -> None:
    table = Table({1: {"n": 1}, 2: RuntimeError("broken")})
    cache = hf.row_cache("stock", source=table, shards=2)
    cache.schedule_many({1: 100, 2: 100, 3: 100})
    cache.refresh_due()
    cache.get(4)
    cache.unschedule(3)
    client = standalone.client()
    version = layout.version(layout.unit_of(Namespace.of(hf.namespace))).encode()
    keys = [key for key in client.scan_iter(f"{hf.namespace}:*") if key != version]
    assert len(keys) > 8
    assert {key: client.pttl(key) for key in keys if client.pttl(key) < 0} == {}
