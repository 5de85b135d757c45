"""Fixtures of the fault bench; loaded by `pytest_plugins = ["faults.fixtures"]`.

Shared ones live as long as the test worker: a test takes keys of its own, and leaves them running
as it found them. A test that kills a server uses `fresh_server`.
"""

import random
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

import pytest

from faults import evidence
from faults.clock import LIBRARY, Clock
from faults.clusters import Cluster
from faults.halves import Half
from faults.proxy import Proxy
from faults.rollback import Rollback
from faults.sentinels import Watched
from faults.servers import Server, server_binary
from faults.tls import Tls
from holdfast import OutcomeUnknown
from holdfast.core.script import Script

SEEDS = 2**32
LOST = ("drop_reply", "drop_request")
REPEATED = ("repeat", "op_id", "another client")
"""How a write is lost, and how it may be repeated: arguments of `lose` and of what it returns."""

PATIENT_MS = 30_000
"""A node that is silent for less counts as busy, not as dead."""
CALM = ("--hz", "10")
"""Shared servers, ten for each worker, idle most of the time: they tick as often as in use."""


class Encrypted(NamedTuple):
    """A server behind TLS: the URL for clients, and the server itself."""

    url: str
    primary: Server


@pytest.fixture(scope="session")
def standalone() -> Iterator[Server]:
    """Yield one shared server without persistence."""
    with Server(*CALM) as server:
        yield server


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Yield a shared cluster of three primaries; a busy machine causes no failover."""
    with Cluster(3, "--cluster-node-timeout", str(PATIENT_MS), *CALM) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def replicated() -> Iterator[Cluster]:
    """Yield a shared cluster of three primaries and three replicas that fails over late."""
    patient = ("--cluster-node-timeout", str(PATIENT_MS), "--cluster-replica-no-failover", "yes")
    with Cluster(3, *patient, *CALM, replicated=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def encrypted(standalone: Server) -> Iterator[Encrypted]:
    """Yield the shared server, which is reachable by TLS only."""
    with Tls(standalone.address) as tls:
        yield Encrypted(tls.url, standalone)


@pytest.fixture(scope="session")
def sentinel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Yield a shared primary with two replicas under three Sentinels that fail over late."""
    folder = tmp_path_factory.mktemp("sentinel")
    with Watched(folder, replicas=2, sentinels=3, down_after_ms=PATIENT_MS) as watched:
        yield watched


@pytest.fixture
def fresh_server() -> Iterator[Server]:
    """Yield a server for one test; it loses nothing when it is killed."""
    with Server(persistence="always") as server:
        yield server


@pytest.fixture
def rollback(fresh_server: Server) -> Rollback:
    """Yield a server for one test; it can restart from an older state."""
    return Rollback(fresh_server)


@pytest.fixture
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Yield a primary and a replica for one test, under a Sentinel."""
    with Watched(tmp_path_factory.mktemp("sentinel")) as watched:
        yield watched


@pytest.fixture(scope="session")
def faketime(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where there is no libfaketime, or the server does not bear it: Debian's Redis hangs."""
    if LIBRARY is None:
        pytest.skip("steps the server's clock with libfaketime: apt install faketime")
    server = Server(env=Clock(tmp_path_factory.mktemp("faketime")).env)
    try:
        server.start()
    except AssertionError:
        pytest.skip(f"{server_binary()} does not start with libfaketime, which steps its clock")
    finally:
        server.close()


@pytest.fixture
def proxy(standalone: Server) -> Iterator[Proxy]:
    """Yield a proxy in front of the shared server."""
    with Proxy(standalone.address) as proxy:
        yield proxy


@pytest.fixture
def lose(half: Half, proxy: Proxy, standalone: Server) -> Callable[..., Callable[[str], Any]]:
    """Make a write with an unknown outcome; return how to repeat it.

    The write is a function of a client and, as an option, of an `op_id`.
    """

    def lost(
        fault: str, script: Script, namespace: str, write: Callable[..., Any], nth: int = 1
    ) -> Callable[[str], Any]:
        client, other = (half.client(proxy.url, namespace) for _ in range(2))
        standalone.shared_client.script_load(script.source)  # or a first request does nothing
        injection = getattr(proxy, fault)(nth, match=script.sha1.encode())
        with pytest.raises(OutcomeUnknown, match="may or may not have been applied") as caught:
            half.do(write(client))
        assert injection.fired == 1
        error = caught.value

        def repeat(how: str) -> Any:
            if how == "repeat":
                return half.do(error.repeat())
            return half.do(write(client if how == "op_id" else other, op_id=error.op_id))

        return repeat

    return lost


@pytest.fixture
def seed(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> int:
    """Return the seed of the test: `--seed N`, otherwise a new one; a failure shows it."""
    chosen = request.config.getoption("--seed")
    seed = random.randrange(SEEDS) if chosen is None else chosen
    record_property("seed", seed)
    print(f"seed {seed}: repeat with --seed {seed}")
    return seed


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--seed`."""
    group = parser.getgroup("faults")
    group.addoption("--seed", type=int, help="replay the choices of a failed fault test")


def pytest_runtest_setup() -> None:
    """Drop the reporters of earlier tests."""
    evidence.dismiss_finished()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what servers, workers and nemeses saw to the report of a failed test."""
    report = yield
    if report.failed:
        report.sections.extend(evidence.reports())
    return report
