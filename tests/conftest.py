"""Fixtures for all tests: a real server in each topology that Holdfast supports."""

from __future__ import annotations

import gc
import inspect
import logging
import secrets
import signal
import sys
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import redis
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from faults.clusters import Cluster
from faults.halves import HALVES, Half
from faults.servers import Server
from holdfast import AsyncHoldfast, Holdfast, acl_rule

pytest_plugins = ["faults.fixtures", "faults.matrix.report", "slow_files"]

# A shell that runs this in the background ignores Ctrl-C, and all processes inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup ignores the hang-up
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A busy machine is slow; that is no error of the tested code.
settings.register_profile(
    "patient", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

TOPOLOGIES = {
    "standalone": "standalone",
    "restricted": "standalone",
    "encrypted": "encrypted",
    "sentinel": "sentinel",
    "cluster": "replicated",
}
"""Name → the fixture that runs it."""

RESTRICTED = {"restricted", "encrypted"}
"""There the user may touch only the namespace of the test."""

USUAL = ("cluster", "restricted")

THOROUGH = {
    *("core", "test_locks", "test_lifecycle", "test_mailbox", "test_chat", "test_counters"),
    *("test_completions", "test_rows", "test_feed", "test_tally"),
}
"""Folders and files, without `_async`, that call every script: each runs in both topologies."""

IN_ONE_PROCESS = {
    *("client/test_damaged_values", "client/test_diagnosis", "client/test_durable_writes"),
    *(
        "client/test_rights_of_many",
        "core/test_cluster",
        "core/test_durability",
        "core/test_layout_check",
    ),
    *("core/test_durable_calls", "messages/faults/test_moving_slots"),
    *("outbox/test_killed", "outbox/test_outbox", "outbox/test_sessions"),
    *("rows/test_commits", "rows/test_outages", "rows/test_sql"),
    *("tallies/test_geo_counter", "tallies/test_geo_table", "web/metrics/test_metrics"),
    *("cli/test_help", "web_apps/test_idempotency_keys", "web_apps/test_limits_and_events"),
    *("web/dashboard/test_accessibility", "web/dashboard/test_browser"),
    *("web/dashboard/test_dashboard_routes", "web/dashboard/test_displayed_names"),
    *("web/dashboard/test_held_updates", "web/dashboard/test_hidden_contents"),
    *("web/dashboard/test_links", "web/dashboard/test_pagination", "web/dashboard/test_scale"),
    *("web/dashboard/test_round_trips", "web/gateway/test_chat_page"),
    *("web/gateway/test_chat_page_sending", "web/gateway/test_gateway_routes"),
    *("faults/test_mixed_versions", "with_sentry/test_reports"),
}
"""Files, without `_async`: the tests of one file share a fixture that takes long to start.

One test process runs all tests of such a file. The other tests are dealt out one by one.
"""


@dataclass(frozen=True)
class Site:
    """A namespace of the test's own on a running server.

    Attributes:
        url: for a client of Holdfast.
        namespace: only this test uses it.
        server: the server, or the cluster, itself.
        client: a plain redis-py client that may do everything there.
    """

    url: str
    namespace: str
    server: Server | Cluster
    client: redis.Redis | redis.RedisCluster

    @property
    def shape(self) -> tuple[str, int, int]:
        """Return the topology as a client names it, its primaries, and the replicas of each."""
        if isinstance(self.server, Cluster):
            return "cluster", len(self.server.primaries), 1
        return ("sentinel", 1, 2) if "+sentinel" in self.url else ("standalone", 1, 0)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--topology` and `--protocol`."""
    parser.addoption(
        "--topology",
        action="append",
        choices=sorted(TOPOLOGIES),
        help=f"where `site` is, may be repeated; {' and '.join(USUAL)} by default",
    )
    parser.addoption(
        "--protocol",
        type=int,
        choices=(2, 3),
        help="the RESP that the client and the URL of `site` ask for; redis-py's own choice is 3",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what is collected out of every later search for garbage: it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test with a `site` in each requested topology."""
    chosen_by_the_test = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "site" in metafunc.fixturenames and "site" not in chosen_by_the_test:
        chosen = metafunc.config.getoption("--topology") or USUAL
        metafunc.parametrize("site", chosen, indirect=True)


class Rotated(pytest.Dir):
    """The folders of tests, for one of several workers: each worker begins with another one.

    The worker that imports a test module first rewrites its assertions, and caches them for all
    workers. In a fresh checkout that takes as long as everything else. In the same order, every
    worker would rewrite every module.
    """

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Return the folders and files, beginning with the part of this worker."""
        nodes = [*super().collect()]
        worker = self.config.workerinput
        begin = int(worker["workerid"].removeprefix("gw")) * len(nodes) // worker["workercount"]
        return nodes[begin:] + nodes[:begin]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Dir | None:
    """See `Rotated`."""
    is_shared = path == Path(__file__).parent and hasattr(parent.config, "workerinput")
    return Rotated.from_parent(parent, path=path) if is_shared else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark most pairs of half and topology as `long`.

    `make test` runs each test in one pair, which differs from test to test. `THOROUGH` tests run in
    both halves and in both topologies. With `--topology` every test runs in every pair.

    Of a test with the mark `sampled(n)` every nth case runs; the others are `long`.
    """
    # All workers must have the same order. What one process runs alone is not left to the end.
    items.sort(key=lambda item: (_file(item.nodeid) not in IN_ONE_PROCESS, item.path))
    all_pairs = config.getoption("--topology")
    cases = Counter[object]()
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        if not all_pairs and _is_left_out(item):
            item.add_marker(pytest.mark.long)
        is_long = item.get_closest_marker("long") is not None
        if not is_long and (sampled := item.get_closest_marker("sampled")):
            if cases[item.function] % sampled.args[0]:
                item.add_marker(pytest.mark.long)
            cases[item.function] += 1


class FixturesShared(LoadScopeScheduling):
    """Deals out tests to the test processes: see `IN_ONE_PROCESS`."""

    def _split_scope(self, nodeid: str) -> str:
        file = _file(nodeid)
        return file if file in IN_ONE_PROCESS else nodeid


def _file(nodeid: str) -> str:
    """Return the file of a test, as `IN_ONE_PROCESS` names it."""
    file = nodeid.partition(".py::")[0].removeprefix("tests/")
    return file.removesuffix("_async").removesuffix("_sync")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FixturesShared:
    """Return what deals out the tests."""
    return FixturesShared(config, log)


def _is_left_out(item: pytest.Function) -> bool:
    """Return whether `make test` runs the test with another half or in another topology."""
    test, _, suffix = item.path.stem.rpartition("_")
    callspec = getattr(item, "callspec", None)
    params, case = (callspec.params, callspec.id) if callspec else ({}, "")
    chosen_by_the_test = any("site" in mark.args[0] for mark in item.iter_markers("parametrize"))
    half = params.get("half", suffix)
    site = None if chosen_by_the_test else params.get("site")
    pair = [
        choices.index(value)
        for choices, value in (([*HALVES], half), (USUAL, site))
        if value in choices
    ]
    if not pair:
        return False
    if test in THOROUGH or item.path.parent.name in THOROUGH:
        pair = [sum(pair)] if len(pair) == 2 else []
    others = [part for part in case.split("-") if part not in (half, site)] if case else []
    toss = crc32("/".join([test, item.originalname, *others]).encode())
    return any((toss >> bit) % 2 != choice % 2 for bit, choice in enumerate(pair))


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """Yield a namespace that only this test uses, in one of the topologies."""
    place = request.getfixturevalue(TOPOLOGIES[request.param])
    protocol = request.config.getoption("--protocol")
    with own_site(place, restricted=request.param in RESTRICTED, protocol=protocol) as site:
        yield site


@contextmanager
def own_site(place: Any, *, restricted: bool, protocol: int | None = None) -> Iterator[Site]:
    """Yield a new namespace on *place*; if *restricted*, with a user who may touch no other."""
    namespace = f"test-{secrets.token_hex(4)}"
    server = getattr(place, "primary", place)
    url, client = place.url, server.shared_client
    with ExitStack() as ending:
        if protocol:
            url += f"{'&' if '?' in url else '?'}protocol={protocol}"
            client = ending.enter_context(server.client(protocol=protocol))
        if restricted:
            url = url.replace("://", f"://{namespace}:secret@")
            rule = acl_rule(namespace)
            client.execute_command("ACL", "SETUSER", namespace, *rule.split(), "on", ">secret")
        yield Site(url, namespace, server, client)
        if restricted:
            client.execute_command("ACL", "DELUSER", namespace)


@pytest.fixture
def hf(request: pytest.FixtureRequest, site: Site) -> Holdfast | AsyncHoldfast:
    """Return a client of `site`: an `AsyncHoldfast` for a test that is a coroutine function."""
    is_async = inspect.iscoroutinefunction(request.function)
    client: Holdfast | AsyncHoldfast = request.getfixturevalue(
        "hf_async" if is_async else "hf_sync"
    )
    return client


@pytest.fixture
def hf_sync(site: Site) -> Iterator[Holdfast]:
    """Yield a blocking client of `site`."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as client:
        yield client


@pytest.fixture
async def hf_async(site: Site) -> AsyncIterator[AsyncHoldfast]:
    """Yield an asyncio client of `site`."""
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as client:
        yield client


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Keep out what asyncio logs when a task that an earlier test has left is collected."""

    def is_of_this_test(record: logging.LogRecord) -> bool:
        return record.name != "asyncio" or "Task was destroyed" not in record.msg

    caplog.handler.addFilter(is_of_this_test)
    yield caplog
    caplog.handler.removeFilter(is_of_this_test)


@pytest.fixture
def collects_clients() -> Iterator[None]:
    """Collect clients that an interrupted `close` left open: no later test is warned."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(params=HALVES)
def half(request: pytest.FixtureRequest) -> Iterator[Half]:
    """Yield each half of Holdfast, with methods to open clients; closed after the test."""
    half = Half(request.param)
    yield half
    half.close()


@pytest.fixture(params=["asyncio", "uvloop"])
def loops_from(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Select the library of the event loops that Holdfast creates, and return its name."""
    if request.param == "uvloop":
        pytest.importorskip("uvloop", reason="install uvloop, which Windows does not have")
    else:
        monkeypatch.setitem(sys.modules, "uvloop", None)  # as if it were not installed
    return str(request.param)
