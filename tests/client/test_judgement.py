"""The findings of `diagnose`, made from snapshots of servers: no I/O."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import Finding, Replica, ServerFacts, Severity, SlowCommand
from holdfast.client.doctor.replication import SLOTS, cluster_state, coverage, replication
from holdfast.client.doctor.security import rights, security
from holdfast.client.doctor.server_settings import settings
from holdfast.client.doctor.snapshots import ClockReading, LatencyEvent, Login, ServerSnapshot
from holdfast.client.doctor.timing import drift, timing
from holdfast.client.doctor.vulnerabilities import parse_version, unfixed_in, vulnerabilities
from holdfast.client.finding import worst_first

NOW = datetime(2030, 1, 1, tzinfo=UTC)
AT = NOW.timestamp()
REPLICA = Replica("127.0.0.1:6380", online=True, lag=1.0, behind=0)
FACTS = ServerFacts(
    address="10.0.0.1:6379", software="valkey", version="9.1.2", uptime=1.0, memory=10,
    memory_peak=10, memory_limit=100, eviction="noeviction", evicted=0, clients=1,
    commands_per_second=1.0, keys=1, appends=True, fsync="always", persists=True, saved_at=NOW,
    replicas=(REPLICA,), slow=(),
)  # fmt: skip
CLOCK = tuple(ClockReading(n * 0.01, 0.001, AT + n * 0.01, AT + n * 0.01) for n in range(5))
LOGIN = Login("app", "shop", by_password=True)
SERVER = ServerSnapshot(
    facts=FACTS, info={"role": "master"}, config={"min-replicas-to-write": "1"}, clock=CLOCK,
    delays=(), login=LOGIN, topology="sentinel", is_local=False,
)  # fmt: skip

CHECKS = (lambda one: one.facts.findings, replication, settings, security, timing)


def findings_of(one: ServerSnapshot) -> list[Finding]:
    return [finding for check in CHECKS for finding in check(one)]


def facts(**changed: Any) -> ServerSnapshot:
    return replace(SERVER, facts=replace(FACTS, **changed))


def info(**changed: str) -> ServerSnapshot:
    return replace(SERVER, info={**SERVER.info, **changed})


def config(**changed: str) -> ServerSnapshot:
    given = {name.replace("_", "-"): value for name, value in changed.items()}
    return replace(SERVER, config={**(SERVER.config or {}), **given})


def clock(change: Callable[[int, ClockReading], ClockReading]) -> ServerSnapshot:
    return replace(SERVER, clock=tuple(change(n, reading) for n, reading in enumerate(CLOCK)))


def bound(to: str, protected: str = "no", port: str = "6379") -> ServerSnapshot:
    """Return a server on this machine, without a password, bound to *to*."""
    one = config(bind=to, protected_mode=protected)
    login = replace(LOGIN, by_password=False)
    return replace(one, info={**one.info, "tcp_port": port}, login=login, is_local=True)


SLOW = SlowCommand(NOW - timedelta(minutes=1), 0.5, "KEYS", "*")


def test_a_server_in_good_order_has_no_findings() -> None:
    assert findings_of(SERVER) == []


@pytest.mark.parametrize(
    ("one", "level", "title"),
    [
        (facts(persists=False), "error", "cannot write to its disk"),
        (facts(eviction="allkeys-lru", evicted=3), "error", "drops what was acknowledged"),
        (facts(memory=95), "error", "95 % used"),
        (facts(replicas=(replace(REPLICA, online=False), REPLICA)), "warning", "does not follow"),
        (facts(replicas=(replace(REPLICA, lag=11.0),)), "warning", "sent nothing for 11 s"),
        (facts(replicas=()), "warning", "no replica that follows"),
        (replace(facts(replicas=()), topology="standalone"), "note", "no replica that follows"),
        (config(min_replicas_to_write="0"), "warning", "accepts writes when no replica follows"),
        (
            replace(config(cluster_require_full_coverage="yes"), topology="cluster"),
            "warning",
            "refuses every call while any slot",
        ),
        (info(role="slave"), "error", "it is a replica"),
        (info(loading="1"), "warning", "loading its data"),
        (facts(memory_limit=None), "note", "memory has no limit"),
        (
            replace(facts(memory_limit=None), info={"total_system_memory": "15"}),
            "warning",
            "memory has no limit",
        ),
        (facts(appends=False), "warning", "does not append"),
        (facts(version="7.1.9"), "error", "valkey 7.1.9 is too old"),
        (facts(software="redis", version="6.2.22"), "error", "redis 6.2.22 is too old"),
        (facts(software="dragonfly"), "warning", "calls itself dragonfly"),
        (facts(version="9.0.3"), "error", "CVE-2026-23479"),
        (
            replace(SERVER, login=replace(LOGIN, by_password=False)),
            "error",
            "connections without a password",
        ),
        (bound("127.0.0.1 0.0.0.0"), "error", "connections without a password"),
        (bound(""), "error", "connections without a password"),
        (
            clock(lambda n, p: replace(p, server_s=p.server_s + 5 * (n > 2))),
            "error",
            "advanced 5.04 s",
        ),
        (
            clock(lambda _, p: replace(p, local_s=p.local_s - 2)),
            "note",
            "2.0 s ahead of this machine",
        ),
        (
            clock(lambda _, p: replace(p, local_s=p.local_s + 90)),
            "warning",
            "90.0 s behind this machine",
        ),
        (clock(lambda _, p: replace(p, took_s=0.03)), "note", "a reply takes 30 ms"),
        (clock(lambda _, p: replace(p, took_s=0.3)), "warning", "a reply takes 300 ms"),
        (facts(slow=(SLOW,)), "warning", "KEYS took 500 ms, on *"),
        (info(latest_fork_usec="700000"), "warning", "was blocked for 0.7 s"),
        (replace(SERVER, delays=(LatencyEvent("fork", NOW, 2.0),)), "warning", "fork took 2.0 s"),
        (facts(slow=None), "note", "may not read the slow log"),
        (replace(SERVER, delays=None), "note", "may not read the latency monitor"),
        (replace(SERVER, config=None), "note", "may not read the settings"),
    ],
)
def test_a_problem_is_one_finding(one: ServerSnapshot, level: str, title: str) -> None:
    [finding] = findings_of(one)
    assert (finding.level, title in finding.title, finding.server) == (level, True, FACTS.address)
    assert finding.why
    assert finding.command


@pytest.mark.parametrize(
    "one",
    [
        facts(slow=(replace(SLOW, at=NOW - timedelta(hours=2)), replace(SLOW, took=0.01))),
        replace(SERVER, delays=(LatencyEvent("fork", NOW - timedelta(hours=2), 2.0),)),
        clock(lambda _, p: replace(p, local_s=p.local_s - 0.5)),
        bound("127.0.0.1 -::1 localhost"),
        bound("0.0.0.0", protected="yes"),
        bound("0.0.0.0", port="0"),
        replace(SERVER, login=replace(LOGIN, by_password=False), is_local=True),
    ],
)
def test_old_or_small_problems_are_no_findings(one: ServerSnapshot) -> None:
    assert findings_of(one) == []


def test_clocks_that_differ_are_a_finding() -> None:
    late = clock(lambda _, p: replace(p, server_s=p.server_s - 3))
    late = replace(late, facts=replace(FACTS, address="10.0.0.2:6379"))
    [finding] = drift([SERVER, late])
    assert finding.title == "the clocks of 10.0.0.2:6379 and 10.0.0.1:6379 are 3.0 s apart"
    assert list(drift([SERVER, SERVER])) == list(drift([])) == []


def test_slots_without_a_server_are_counted() -> None:
    assert list(coverage([(0, 99), (100, SLOTS - 1)])) == []
    [finding] = coverage([(0, 99), (200, SLOTS - 1)])
    assert finding.title == "100 slots of the cluster have no server, such as 100"


def test_the_state_a_cluster_node_reports_is_a_finding() -> None:
    assert list(cluster_state("a", {})) == []
    state = {"cluster_state": "fail", "cluster_slots_pfail": "5", "cluster_slots_fail": "1"}
    assert [each.level for each in cluster_state("a", state)] == ["error", "warning"]


def test_rights_are_compared_with_the_rule() -> None:
    assert list(rights(LOGIN)) == []
    [lack] = rights(replace(LOGIN, missing=("TIME", "WAIT")))
    assert (lack.level, lack.title) == ("error", "user 'app' may not TIME, WAIT")
    [beyond] = rights(replace(LOGIN, excessive=("administer the server",)))
    assert (beyond.level, beyond.title) == ("warning", "user 'app' may administer the server")
    [default] = rights(replace(LOGIN, user="default", excessive=("administer the server",)))
    assert (default.level, "SETUSER default" in default.command) == ("note", False)


@pytest.mark.parametrize(
    ("software", "version", "ids", "fixed_in"),
    [
        ("valkey", "9.1.2", 0, None),
        ("valkey", "9.1.0-rc1", 0, None),
        ("valkey", "8.1.3", 8, (8, 1, 4)),
        ("valkey", "8.1.4", 4, (8, 1, 6)),
        ("valkey", "7.2.6", 10, (7, 2, 7)),
        ("redis", "8.6.3", 0, None),
        ("redis", "8.2.1", 7, (8, 2, 2)),
        ("redis", "7.0.15", 9, None),
        ("redis", "99.0.0", 0, None),
        ("other", "1.0.0", 0, None),
    ],
)
def test_known_vulnerabilities(software: str, version: str, ids: int, fixed_in: object) -> None:
    found = unfixed_in(software, parse_version(version))
    assert sum(len(each.vulnerability.ids) for each in found) == ids
    assert not found or found[0].fixed_in == fixed_in


def test_each_vulnerability_has_its_source() -> None:
    for each in vulnerabilities():
        assert each.source.startswith("https://github.com/")
        assert all(name.startswith("CVE-") for name in each.ids)
        for versions in each.fixed.values():
            assert list(versions) == sorted(versions)
            assert len({version[:2] for version in versions}) == len(versions)


def test_the_worst_comes_first_and_each_once() -> None:
    def finding(level: str) -> Finding:
        return Finding(Severity(level), level, "why", "command")

    given = map(finding, ["note", "error", "warning", "error"])
    assert [each.level for each in worst_first(given)] == ["error", "warning", "note"]


def test_severities_are_one_scale() -> None:
    """Each member is also a text, and can be made from it."""
    assert Severity.worst([]) is Severity.OK
    assert Severity.worst(["note", "error", "warning"]) is Severity.ERROR
    assert [each.rank for each in Severity] == [0, 1, 2, 3]
