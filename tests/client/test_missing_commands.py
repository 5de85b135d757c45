"""A user without one command of the rule: nothing is held twice, and errors name the permission."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from faults.halves import HALVES, Half
from faults.servers import Server
from holdfast import OutcomeUnknown, ServerRefused, TaskRegistry, WorkerCannotStart, acl_rule
from holdfast.core.transport.rejection import rejection_in

NAMESPACE = "lacking"

tasks = TaskRegistry()


@tasks.task(queue="lacking")
def nothing() -> None:
    pass


@contextmanager
def user_without(server: Server, command: str) -> Iterator[str]:
    """Yield the URL of a user who has the whole rule but *command*."""
    rule = acl_rule(NAMESPACE).split()
    with server.client() as admin:
        admin.execute_command("ACL", "SETUSER", "lacking", *rule, "on", ">secret")
        admin.execute_command("ACL", "SETUSER", "lacking", f"-{command}")
        try:
            yield f"redis://lacking:secret@127.0.0.1:{server.port}"
        finally:
            admin.execute_command("ACL", "DELUSER", "lacking")


HELD: list[Callable[[Any, str], Any]] = [
    lambda hf, name: hf.lock(name).acquire(timeout=5.0),
    lambda hf, name: hf.semaphore(name, limit=1).acquire(timeout=5.0),
]


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("kind", range(len(HELD)))
def test_a_holder_is_not_forgotten(standalone: Server, name: str, kind: int) -> None:
    with user_without(standalone, "zadd") as url, closing(Half(name)) as half:
        hf = half.client(url, NAMESPACE)
        unit = f"{name}-{kind}"
        first = half.do(HELD[kind](hf, unit))
        for _ in range(3):
            with pytest.raises(ServerRefused) as refused:
                half.do(HELD[kind](hf, unit))
            assert refused.value.rejection == "permission"
        half.do(first.release())
        half.do(half.do(HELD[kind](hf, unit)).release())


@pytest.mark.parametrize("name", HALVES)
def test_a_message_that_may_not_be_added_is_no_damage(standalone: Server, name: str) -> None:
    with user_without(standalone, "xadd") as url, closing(Half(name)) as half:
        box = half.client(url, NAMESPACE).mailbox(f"box-{name}")
        with pytest.raises(OutcomeUnknown) as unknown:
            half.do(box.send("hi", sender="jill"))
        assert rejection_in(unknown.value.reason) == "permission"


def test_a_worker_names_the_command(standalone: Server) -> None:
    with user_without(standalone, "hdel") as url, closing(Half("sync")) as half:
        with pytest.raises(WorkerCannotStart, match="no right to HDEL") as ended:
            half.client(url, NAMESPACE).worker(tasks).run()
        assert ended.value.rejection == "permission"


@pytest.mark.parametrize(
    "reply",
    [
        "NOPERM User u has no permissions to run the 'get' command",
        "ERR ACL failure in script: User u has no permissions to run the 'zadd' command",
        "ERR The user executing the script can't run this command or subcommand script: 12ab",
    ],
)
def test_each_server_says_that_a_permission_is_missing(reply: str) -> None:
    assert rejection_in(reply) == "permission"
