"""Reading counters writes nothing: for a user who may not, and on a replica."""

import secrets

import pytest

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, OutcomeUnknown, ServerUnavailable


def test_a_user_who_may_not_write(standalone: Server) -> None:
    namespace = f"read-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        hf.counter("hits").add(3)
        hf.counter("gone", precisions=[1], keep=1).add()
        eventually(lambda: hf.counter("gone").inspect() is None)
    rule = f"resetkeys ~{namespace}:* -@all +@read +@scripting +@connection +time"
    standalone.execute("ACL", "SETUSER", namespace, "on", ">secret", *rule.split())
    url = standalone.url.replace("://", f"://{namespace}:secret@")
    with Holdfast.from_url(url, namespace=namespace) as reader:
        hits = reader.counter("hits")
        assert hits.total(3600) == sum(sample.value for sample in hits.samples(60)) == 3
        assert reader.known_counters() == ["hits"]  # what has vanished is for others to forget
        with pytest.raises((OutcomeUnknown, ServerUnavailable), match=r"permission|can't run"):
            hits.add()
        assert hits.total(3600) == 3
    standalone.execute("ACL", "DELUSER", namespace)


def test_a_replica(fresh_server: Server) -> None:
    with Server() as replica, Holdfast.from_url(fresh_server.url) as hf:
        host, port = fresh_server.address
        replica.execute("REPLICAOF", host, port)
        hf.counter("hits").add(3)
        with Holdfast.from_url(f"{replica.url}?socket_timeout=60") as reader:
            eventually(lambda: reader.counter("hits").total(3600) == 3)
            eventually(lambda: reader.known_counters() == ["hits"])
        with (
            Holdfast.from_url(f"{replica.url}?socket_timeout=1") as writer,
            pytest.raises(ServerUnavailable, match="READONLY"),
        ):
            writer.counter("hits").add()
