# Generated from test_diagnosis_async.py by tools/unasync.py: edit that, then run `make sync`.
"""What `diagnose` finds on real servers."""

from collections.abc import Iterator

import pytest

from conftest import Site
from faults.clusters import Cluster
from faults.fixtures import PATIENT_MS
from faults.sentinels import Watched
from faults.servers import Server
from holdfast import Finding, Holdfast, ServerUnavailable, acl_rule


def found(url: str, namespace: str = "holdfast") -> list[Finding]:
    with Holdfast.from_url(url, namespace=namespace) as hf:
        return hf.diagnose()


def titles(findings: list[Finding], *levels: str) -> list[str]:
    return [each.title for each in findings if each.level in levels or not levels]


def test_a_test_server_has_no_errors(site: Site) -> None:
    findings = found(site.url, site.namespace)
    assert titles(findings, "error") == []
    assert "it does not append writes to a file" in titles(findings, "warning")
    assert all(each.why and each.command for each in findings)
    levels = [each.level for each in findings]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)


def test_a_user_who_may_not_look_is_told_so(site: Site) -> None:
    told = titles(found(site.url, site.namespace))
    restricted = "secret@" in site.url
    assert ("this user may not look at the settings" in told) == restricted
    assert ("this user may not look at the slow log and the latency monitor" in told) == restricted
    assert any("may use keys outside its namespace" in each for each in told) != restricted
    assert not any("may not TIME" in each or "on its keys" in each for each in told)


def test_diagnosing_changes_nothing(site: Site) -> None:
    found(site.url, site.namespace)
    assert list(site.client.scan_iter(f"{site.namespace}:*")) == []
    assert list(site.client.scan_iter("holdfast-doctor-*")) == []


SETTINGS = [
    ({"maxmemory-policy": "allkeys-lru"}, "warning", "drops what was acknowledged (allkeys-lru)"),
    ({"appendfsync": "everysec"}, "note", "writes reach the disk once a second"),
    ({"appendfsync": "no"}, "warning", "leaves to the system when writes reach the disk"),
    ({"appendonly": "no"}, "warning", "does not append writes to a file"),
    ({"maxmemory": "1"}, "error", "% used"),
    ({"maxclients": "12"}, "warning", "connections are taken"),
    ({"tcp-keepalive": "0"}, "warning", "never looks whether its connections are alive"),
    ({"timeout": "7"}, "note", "closes connections that are silent for 7 s"),
    ({"busy-reply-threshold": "0"}, "note", "scripts that take long are never reported"),
    ({"busy-reply-threshold": "50"}, "warning", "scripts are called hanging after 50 ms"),
    ({"client-output-buffer-limit": "pubsub 0 0 0"}, "note", "have not read yet has no limit"),
    (
        {"client-output-buffer-limit": "pubsub 1024 0 0"},
        "warning",
        "subscribers are cut off once 1,024 bytes wait",
    ),
]


def test_settings_that_may_cost_something_are_told(fresh_server: Server) -> None:
    with fresh_server.client() as client:
        crowd = [fresh_server.client() for _ in range(8)]
        for each in crowd:
            each.ping()
        for settings, level, title in SETTINGS:
            before = {name: client.config_get(name)[name] for name in settings}
            assert not any(title in each for each in titles(found(fresh_server.url))), title
            for name, value in settings.items():
                client.config_set(name, value)
            told = [each for each in found(fresh_server.url) if title in each.title]
            for name, value in before.items():
                client.config_set(name, value)
            assert [each.level for each in told] == [level], title
            assert told[0].server.endswith(str(fresh_server.port))


def test_what_a_user_lacks_is_named(standalone: Server) -> None:
    name = "test-lacking"
    with standalone.client() as client:
        rule = [*acl_rule(name).split(), "-hget", "-unlink", "~other:*", "~holdfast-*"]
        client.execute_command("ACL", "SETUSER", name, *rule, "on", ">secret")
        try:
            url = standalone.url.replace("://", f"://{name}:secret@")
            findings = found(url, name)
            client.execute_command("ACL", "SETUSER", name, "resetkeys", "-time")
            [alone] = found(url, name)
        finally:
            client.execute_command("ACL", "DELUSER", name)
    [lack] = [each for each in findings if each.level == "error"]
    assert "HGET on its keys" in lack.title
    assert "UNLINK on its keys" in lack.title
    assert acl_rule(name) in lack.command
    assert ("may not TIME" in alone.title, alone.level) == (True, "error")  # so it looks no further
    [beyond] = [each for each in findings if "outside its namespace" in each.title]
    assert (beyond.level, "administer" in beyond.title) == ("warning", False)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A primary and a replica, which stay what they are."""
    folder = tmp_path_factory.mktemp("sentinel")
    with Watched(folder, down_after_ms=PATIENT_MS) as pair:
        yield pair


def test_a_primary_that_writes_alone_is_told(pair: Watched) -> None:
    told = titles(found(pair.url), "warning")
    assert "it goes on writing when no replica hears it" in told
    assert "it has no replica that follows" not in told


def test_a_replica_refuses_writes(pair: Watched) -> None:
    told = titles(found(pair.replica.url), "error")
    assert "it is a replica" in told


def test_a_cluster_is_looked_at_whole(cluster: Cluster) -> None:
    findings = found(cluster.url)
    alone = {each.server for each in findings if each.title == "it has no replica that follows"}
    assert len(alone) == 3


def test_a_server_that_is_away_is_told() -> None:
    with pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:1"):
        found("redis://127.0.0.1:1")
