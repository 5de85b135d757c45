"""Reading writes nothing; and sixteen who write and read at once do not disturb each other."""

from __future__ import annotations

import random
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, OutcomeUnknown, ServerUnavailable


def test_a_user_who_may_not_write(standalone: Server) -> None:
    """Finds; and is told when it adds all the same."""
    namespace = f"read-{secrets.token_hex(4)}"
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        hf.completions("g").add("jeff")
        hf.recent("p").touch("jill")
    rule = f"resetkeys ~{namespace}:* -@all +@read +@scripting +@connection +time"
    standalone.execute("ACL", "SETUSER", namespace, "on", ">secret", *rule.split())
    url = standalone.url.replace("://", f"://{namespace}:secret@")
    with Holdfast.from_url(url, namespace=namespace) as reader:
        names = reader.completions("g")
        assert [match.name for match in names.search("j")] == ["jeff"]
        assert names.has("jeff")
        assert names.count() == 1
        assert reader.recent("p").match("J") == ["jill"]
        with pytest.raises(OutcomeUnknown, match=r"no permissions to run the 'zadd'|can't run"):
            names.add("x")
        assert names.count() == 1
    standalone.execute("ACL", "DELUSER", namespace)


def test_a_removal_that_breaks_off(standalone: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its first thousand is not said to be not applied; repeated, it tells of them all."""
    namespace = f"part-{secrets.token_hex(4)}"
    user = ("ACL", "SETUSER", namespace, "on", ">secret", "+@all", f"~{namespace}:*")
    standalone.execute(*user)
    url = standalone.url.replace("://", f"://{namespace}:secret@")
    with Holdfast.from_url(url, namespace=namespace) as hf:
        names = hf.completions("g")
        names.add_many(("Jo", str(n)) for n in range(1500))
        caller = names._caller
        call, calls = caller.call, []

        def counted(*args: Any, **options: Any) -> Any:
            calls.append(args)
            if len(calls) == 2:
                standalone.execute("ACL", "SETUSER", namespace, "resetkeys")
            return call(*args, **options)

        monkeypatch.setattr(caller, "call", counted)
        with pytest.raises(OutcomeUnknown, match="1,000 entries are gone, then") as lost:
            names.remove("Jo")
        standalone.execute(*user)
        assert lost.value.repeat() == 1500
        assert names.count() == 0
    standalone.execute("ACL", "DELUSER", namespace)


def test_a_replica(fresh_server: Server) -> None:
    """It refuses writes, and finds what its primary has."""
    with Server() as replica, Holdfast.from_url(fresh_server.url) as hf:
        host, port = fresh_server.address
        replica.execute("REPLICAOF", host, port)
        hf.completions("g").add("jeff")
        with Holdfast.from_url(f"{replica.url}?socket_timeout=60") as reader:
            eventually(lambda: [match.name for match in reader.completions("g").search("J")])
        with (
            Holdfast.from_url(f"{replica.url}?socket_timeout=1") as writer,
            pytest.raises(ServerUnavailable, match="READONLY"),
        ):
            writer.completions("g").add("jenny")


def test_sixteen_at_once(standalone: Server, seed: int) -> None:
    """Each with names of its own: a search finds all of those that its client has added."""
    namespace = f"crowd-{secrets.token_hex(4)}"

    def client(number: int) -> None:
        dice = random.Random(f"{seed} {number}")
        mine: set[str] = set()
        url = f"{standalone.url}?socket_timeout=60"
        with Holdfast.from_url(url, namespace=namespace) as hf:
            names = hf.completions("g")
            for _ in range(40):
                name = f"{number}-{dice.randrange(20)} word"
                if name in mine and dice.random() < 0.5:
                    assert names.remove(name) == 1
                    mine.remove(name)
                else:
                    assert names.add(name) == (name not in mine)
                    mine.add(name)
                found = {match.name for match in names.search(f"{number}-", limit=1000)}
                assert {each for each in found if each.startswith(f"{number}-")} == mine

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(client, range(16)))
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        names = hf.completions("g")
        assert len(names.search("", limit=1000)) == names.count()
