"""What `diagnose` finds on real servers."""

import os
from collections.abc import Iterator

import pytest

from conftest import Site
from faults.clusters import Cluster
from faults.fixtures import PATIENT_MS
from faults.sentinels import Watched
from faults.servers import Server
from holdfast import (
    AsyncHoldfast,
    Every,
    Finding,
    ServerUnavailable,
    TaskRegistry,
    acl_rule,
)
from holdfast.core.names import Namespace
from holdfast.queues import keys


async def found(url: str, namespace: str = "holdfast") -> list[Finding]:
    async with AsyncHoldfast.from_url(url, namespace=namespace) as hf:
        return await hf.diagnose()


def titles(findings: list[Finding], *levels: str) -> list[str]:
    return [each.title for each in findings if each.level in levels or not levels]


async def test_a_test_server_has_no_errors(site: Site) -> None:
    findings = await found(site.url, site.namespace)
    errors = titles(findings, "error")
    if "HOLDFAST_TEST_SERVER" in os.environ:  # which may be an old release
        errors = [title for title in errors if "CVE-" not in title]
    assert errors == []
    assert "it does not append writes to a file" in titles(findings, "warning")
    assert all(each.why and each.command for each in findings)
    levels = [each.level for each in findings]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)


async def test_missing_rights_of_the_user_are_notes(site: Site) -> None:
    listed = titles(await found(site.url, site.namespace))
    restricted = "secret@" in site.url
    assert ("this user may not read the settings" in listed) == restricted
    assert ("this user may not read the slow log and the latency monitor" in listed) == restricted
    assert any("may use keys outside its namespace" in each for each in listed) != restricted
    assert not any("may not TIME" in each or "on its keys" in each for each in listed)


async def test_diagnosing_changes_nothing(site: Site) -> None:
    await found(site.url, site.namespace)
    assert list(site.client.scan_iter(f"{site.namespace}:*")) == []
    assert list(site.client.scan_iter("holdfast-doctor-*")) == []


async def test_overdue_and_forgotten_schedules_are_reported(site: Site) -> None:
    tasks = TaskRegistry()

    @tasks.task(queue="reports", schedule=Every(hours=1))
    def nightly() -> None:
        pass

    unit = Namespace.of(site.namespace).unit(keys.KIND, "reports")
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        await hf.worker(tasks).run(until_idle=True)
        listed = titles(await hf.diagnose())
        assert not any("schedule" in title for title in listed)
        (status,) = await hf.schedules()
        site.client.zadd(keys.schedule_times(unit), {status.name: 1_000_000})
        site.client.hset(keys.schedule_state(unit), status.name, "1:1:0:0:0:0:1:")
        await hf.schedule("paused", nightly.call(), Every(hours=1))
        await hf.schedule_handle("paused").pause()
        listed = titles(await hf.diagnose(), "warning")
    named = f"schedule {status.name!r} of queue 'reports': "
    assert f"{named}overdue by more than a minute" in listed
    assert f"{named}no worker has declared it for a day" in listed
    assert len([title for title in listed if "schedule" in title]) == 2


SETTINGS = [
    ({"maxmemory-policy": "allkeys-lru"}, "warning", "drops what was acknowledged (allkeys-lru)"),
    ({"appendfsync": "everysec"}, "note", "writes reach the disk once a second"),
    ({"appendfsync": "no"}, "warning", "the operating system decides when writes reach"),
    ({"appendonly": "no"}, "warning", "does not append writes to a file"),
    ({"maxmemory": "1"}, "error", "% used"),
    ({"maxclients": "12"}, "warning", "connections are taken"),
    ({"tcp-keepalive": "0"}, "warning", "never checks whether its connections are alive"),
    ({"timeout": "7"}, "note", "closes connections that are idle for 7 s"),
    ({"busy-reply-threshold": "0"}, "note", "slow scripts are never reported"),
    ({"busy-reply-threshold": "50"}, "warning", "scripts count as hanging after 50 ms"),
    (
        {"client-output-buffer-limit": "pubsub 0 0 0"},
        "note",
        "unread messages of a subscriber have no limit",
    ),
    (
        {"client-output-buffer-limit": "pubsub 1024 0 0"},
        "warning",
        "subscribers are disconnected at 1,024 unread",
    ),
]


async def test_settings_that_may_cost_data_or_time_are_findings(fresh_server: Server) -> None:
    with fresh_server.client() as client:
        clients = [fresh_server.client() for _ in range(8)]
        for each in clients:
            each.ping()
        for settings, level, title in SETTINGS:
            before = {name: client.config_get(name)[name] for name in settings}
            assert not any(title in each for each in titles(await found(fresh_server.url))), title
            for name, value in settings.items():
                client.config_set(name, value)
            listed = [each for each in await found(fresh_server.url) if title in each.title]
            for name, value in before.items():
                client.config_set(name, value)
            assert [each.level for each in listed] == [level], title
            assert listed[0].server.endswith(str(fresh_server.port))


async def test_what_a_user_lacks_is_named(standalone: Server) -> None:
    name = "test-lacking"
    with standalone.client() as client:
        rule = [*acl_rule(name).split(), "-hget", "-unlink", "~other:*", "~holdfast-*"]
        client.execute_command("ACL", "SETUSER", name, *rule, "on", ">secret")
        try:
            url = standalone.url.replace("://", f"://{name}:secret@")
            findings = await found(url, name)
            client.execute_command("ACL", "SETUSER", name, "resetkeys", "-time")
            [alone] = await found(url, name)
        finally:
            client.execute_command("ACL", "DELUSER", name)
    [lack] = [each for each in findings if each.level == "error" and "CVE-" not in each.title]
    assert "HGET on its keys" in lack.title
    assert "UNLINK on its keys" in lack.title
    assert acl_rule(name) in lack.command
    assert ("may not TIME" in alone.title, alone.level) == (
        True,
        "error",
    )  # nothing else is checked then
    [beyond] = [each for each in findings if "outside its namespace" in each.title]
    assert (beyond.level, "administer" in beyond.title) == ("warning", False)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Start a primary and a replica, without failover."""
    folder = tmp_path_factory.mktemp("sentinel")
    with Watched(folder, down_after_ms=PATIENT_MS) as pair:
        yield pair


async def test_a_primary_that_writes_without_replicas_is_a_warning(pair: Watched) -> None:
    listed = titles(await found(pair.url), "warning")
    assert "it accepts writes when no replica follows" in listed
    assert "it has no replica that follows" not in listed


async def test_a_replica_refuses_writes(pair: Watched) -> None:
    listed = titles(await found(pair.replica.url), "error")
    assert "it is a replica" in listed


async def test_all_primaries_of_a_cluster_are_checked(cluster: Cluster) -> None:
    findings = await found(cluster.url)
    alone = {each.server for each in findings if each.title == "it has no replica that follows"}
    assert len(alone) == 3


async def test_a_node_that_is_away_is_a_finding_among_the_others() -> None:
    with Cluster(3, "--cluster-require-full-coverage", "no") as cluster:
        away = cluster.nodes[1]
        away.kill()
        findings = await found(f"{cluster.url}?socket_timeout=1")
        at = f"127.0.0.1:{away.port}"
        about = [each.title for each in findings if each.server == at]
        assert len(about) == 1
        assert about[0].startswith("it does not answer: ")
        alone = {each.server for each in findings if each.title == "it has no replica that follows"}
        assert len(alone) == 2


async def test_an_unreachable_server_is_an_error() -> None:
    with pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:1"):
        await found("redis://127.0.0.1:1")
