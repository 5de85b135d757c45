"""What every test stands on: a real server in each topology that Holdfast promises to serve."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import redis
from hypothesis import HealthCheck, settings

from faults.clusters import Cluster
from faults.servers import Server
from holdfast import acl_rule

pytest_plugins = ["faults.fixtures"]

# Who runs this in the background ignores Ctrl-C, and all processes inherit what is ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# A busy machine is slow, which says nothing about what is tested.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

TOPOLOGIES = ("cluster", "restricted")


@dataclass(frozen=True)
class Site:
    """A namespace of the test's own on a running server.

    Attributes:
        url: for a client of Holdfast.
        namespace: nobody else uses it.
        server: the server, or the cluster, itself.
        client: a plain redis-py client that may do everything there.
    """

    url: str
    namespace: str
    server: Server | Cluster
    client: redis.Redis | redis.RedisCluster


@pytest.fixture(params=TOPOLOGIES)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A cluster of three, and one server, where the user may touch only the namespace."""
    namespace = f"test-{secrets.token_hex(4)}"
    server = request.getfixturevalue("cluster" if request.param == "cluster" else "standalone")
    url = server.url
    with server.client() as client:
        if request.param == "restricted":
            url = url.replace("://", f"://{namespace}:secret@")
            rule = acl_rule(namespace)
            client.execute_command("ACL", "SETUSER", namespace, "on", ">secret", *rule.split())
        yield Site(url, namespace, server, client)
        if request.param == "restricted":
            client.execute_command("ACL", "DELUSER", namespace)
