"""A worker that a server rejects ends at once; for a server that is away it waits."""

import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import pytest

from conftest import Site
from faults.fixtures import Encrypted
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, TaskRegistry, Worker, WorkerCannotStart, acl_rule
from holdfast.client.acl import SCRIPTED
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace
from holdfast.core.transport.settings import Settings
from holdfast.queues.worker.permissions import ARGUMENTS, PERMISSIONS

SECRET = "open-sesame"
QUEUE = "start"

tasks = TaskRegistry()
ran: list[str] = []


@tasks.task(queue=QUEUE)
def note(name: str) -> None:
    ran.append(name)


def start_of(url: str, namespace: str = "start") -> WorkerCannotStart:
    """Start a worker and return why it cannot start."""
    with Holdfast.from_url(url, namespace=namespace) as hf:
        worker = hf.worker(tasks)
        with pytest.raises(WorkerCannotStart) as caught, stopped_after(worker, 30.0):
            worker.run()
    return caught.value


@contextmanager
def stopped_after(worker: Worker, seconds: float) -> Iterator[None]:
    """Stop *worker* if it still runs after *seconds*."""
    timer = threading.Timer(seconds, worker.stop)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def running(worker: Worker) -> Iterator[threading.Thread]:
    """Run *worker* in a thread."""
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield thread
    finally:
        worker.stop(grace=0)
        thread.join(60)


def login(url: str, user: str, password: str) -> str:
    """Return *url* with another user."""
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}:{password}@{hosts}"))


@pytest.fixture
def user(standalone: Server) -> Iterator[Callable[..., str]]:
    """Yield a function that adds a user and returns a URL with its login."""
    names: list[str] = []

    def add(*rules: str) -> str:
        names.append(f"start-{secrets.token_hex(4)}")
        standalone.execute("ACL", "SETUSER", names[-1], "on", f">{SECRET}", *rules)
        return login(standalone.url, names[-1], SECRET)

    yield add
    for name in names:
        standalone.execute("ACL", "DELUSER", name)


# What a server rejects


@pytest.mark.parametrize("site", ["restricted", "encrypted", "sentinel", "cluster"], indirect=True)
def test_wrong_credentials_end_a_worker_in_every_topology(site: Site) -> None:
    error = start_of(login(site.url, "nobody", SECRET), site.namespace)
    assert error.rejection == "credentials"
    assert error.server in str(error)
    assert ":" in error.server
    assert SECRET not in str(error)


def test_a_missing_password_ends_it() -> None:
    with Server() as server:
        server.execute("CONFIG", "SET", "requirepass", SECRET)
        error = start_of(server.url)
        assert error.rejection == "credentials"
        assert "Authentication required" in error.reason


def test_what_a_user_may_not_run_is_named(user: Callable[..., str], standalone: Server) -> None:
    error = start_of(user("~*", "&*", "+@all", "-hset", "-lpop"))
    assert (error.rejection, error.server) == ("permission", f"127.0.0.1:{standalone.port}")
    assert error.reason == "no right to HSET, LPOP"
    assert "holdfast acl --namespace start" in error.remedy


def test_a_user_of_another_namespace_is_rejected(user: Callable[..., str]) -> None:
    error = start_of(user(*acl_rule("other").split(), "on", f">{SECRET}"))
    assert error.rejection == "permission"


@pytest.mark.parametrize("denied", ["-eval", "-evalsha", "-time"])
def test_a_user_without_scripts_is_rejected(denied: str) -> None:
    """The server is new: it knows no script, so the first call needs EVAL too."""
    with Server() as server:
        rules = ("~*", "&*", "+@all", denied)
        server.execute("ACL", "SETUSER", "u", "on", f">{SECRET}", *rules)
        assert start_of(login(server.url, "u", SECRET)).rejection == "permission"


def test_a_database_that_does_not_exist_is_rejected(standalone: Server) -> None:
    error = start_of(f"{standalone.url}/9999")
    assert (error.rejection, error.reason) == ("settings", "DB index is out of range")


def test_a_server_with_tls_needs_a_client_with_tls(encrypted: Encrypted) -> None:
    error = start_of(f"redis://127.0.0.1:{urlsplit(encrypted.url).port}")
    assert (error.rejection, error.remedy) == ("tls", "use a rediss:// URL")


def test_a_server_without_tls_needs_a_client_without(standalone: Server) -> None:
    error = start_of(f"rediss://127.0.0.1:{standalone.port}?socket_timeout=1")
    assert error.rejection == "tls"
    assert "use a redis:// URL" in error.remedy


def test_an_unknown_authority_is_rejected(encrypted: Encrypted) -> None:
    error = start_of(f"rediss://127.0.0.1:{urlsplit(encrypted.url).port}")
    assert error.rejection == "tls"
    assert "CERTIFICATE_VERIFY_FAILED" in error.reason
    assert "ssl_ca_certs" in error.remedy


def test_a_certificate_file_that_does_not_exist_is_named(encrypted: Encrypted) -> None:
    port = urlsplit(encrypted.url).port
    error = start_of(f"rediss://127.0.0.1:{port}?ssl_ca_certs=/nowhere/ca.pem")
    assert (error.rejection, error.reason) == (
        "tls",
        "the file '/nowhere/ca.pem' (ssl_ca_certs) does not exist",
    )


def test_every_command_of_scripts_is_probed(user: Callable[..., str], standalone: Server) -> None:
    """With a wrong number of arguments the server would not look at the permission."""
    # No script of a worker sends the last two. The key is not their first argument.
    commands = sorted({*SCRIPTED.upper().split()} - {"TIME", "XREAD", "ZINTER"})
    url = user("~*", "&*", "-@all", "+eval", "+evalsha", "+time", "+@connection", "+info")
    lines = [f"{name} {ARGUMENTS.get(name, '')}".strip() for name in commands]
    unit = Namespace.of("start").unit("queue", "start")
    caller = Caller(Settings.from_url(url))
    try:
        denied = caller.call(PERMISSIONS, unit, PERMISSIONS.keys(unit), lines)
    finally:
        caller.close()
    assert [name.decode() for name in denied] == commands


# What a worker survives


def test_a_user_without_channels_gets_a_warning(
    user: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    url = user("~*", "resetchannels", "+@all")
    with Holdfast.from_url(url, namespace="start") as hf:
        hf.worker(tasks).run(until_idle=True)
    assert [r for r in caplog.records if "denies this user to publish" in r.getMessage()]


def test_it_waits_for_a_server_that_starts_later(caplog: pytest.LogCaptureFixture) -> None:
    """It warns at once, is not ready meanwhile, and reports the end of the outage once."""
    caplog.set_level(logging.INFO, "holdfast.worker")
    with Server() as server:
        server.stop()
        with Holdfast.from_url(server.url, namespace="start") as hf:
            worker = hf.worker(tasks)
            with running(worker):
                eventually(lambda: worker.health().problems)
                health = worker.health()
                assert health.state == "starting"
                assert f"127.0.0.1:{server.port}" in health.not_ready()
                assert not health.not_alive()
                server.start()
                eventually(lambda: not worker.health().not_ready())
            assert worker.health().state == "stopped"
    levels = [r.levelname for r in caplog.records if "claim tasks" in r.getMessage()]
    ends = [r.levelname for r in caplog.records if "claims tasks again" in r.getMessage()]
    assert (levels, ends) == (["WARNING"], ["INFO"])


def test_it_ends_when_the_server_that_it_waited_for_rejects_it() -> None:
    with Server() as server:
        server.stop()
        with Holdfast.from_url(login(server.url, "nobody", SECRET), namespace="start") as hf:
            worker = hf.worker(tasks)
            caught: list[BaseException] = []

            def run() -> None:
                try:
                    worker.run()
                except WorkerCannotStart as error:
                    caught.append(error)

            thread = threading.Thread(target=run)
            thread.start()
            eventually(lambda: worker.health().problems)
            server.start()
            thread.join(60)
            assert [error.rejection for error in caught] == ["credentials"]  # type: ignore[attr-defined]


def test_a_password_that_changes_later_is_an_outage(
    user: Callable[..., str], standalone: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "holdfast.worker")
    url, namespace = user("~*", "&*", "+@all"), f"start-{secrets.token_hex(4)}"
    name = urlsplit(url).username or ""
    with Holdfast.from_url(url, namespace=namespace) as hf:
        worker = hf.worker(tasks)
        with running(worker) as thread:
            eventually(lambda: worker.health().state == "serving")
            standalone.execute("ACL", "SETUSER", name, "resetpass", ">another")
            standalone.execute("CLIENT", "KILL", "USER", name)
            eventually(lambda: worker.health().problems)
            assert "invalid username-password pair" in worker.health().not_ready()
            assert thread.is_alive()
            standalone.execute("ACL", "SETUSER", name, f">{SECRET}")
            eventually(lambda: not worker.health().not_ready())
            ran.clear()
            hf.enqueue(note.call("after"))
            eventually(lambda: ran == ["after"])
    assert [r for r in caplog.records if "claims tasks again" in r.getMessage()]


def test_a_new_partition_on_a_server_that_rejects_the_worker_is_an_outage(
    user: Callable[..., str], standalone: Server
) -> None:
    """Such as while the rule of the user, or its password, is being changed."""
    namespace = f"start-{secrets.token_hex(4)}"
    first = f"~{namespace}:{{queue:{QUEUE}}}:*"
    url = user(first, f"~{namespace}:{{[^q]*", "&*", "+@all")
    name = urlsplit(url).username or ""
    with (
        Holdfast.from_url(standalone.url, namespace=namespace) as admin,
        Holdfast.from_url(url, namespace=namespace) as hf,
    ):
        worker = hf.worker(tasks)
        ran.clear()
        with running(worker) as thread:
            eventually(lambda: worker.health().state == "serving")
            admin.queue(QUEUE).repartition(2)
            eventually(lambda: worker.health().problems)
            admin.enqueue_many([note.call(str(n)) for n in range(200)])  # 100 in each partition
            eventually(lambda: len(ran) == 100)
            assert thread.is_alive()
            standalone.execute("ACL", "SETUSER", name, f"~{namespace}:*")
            eventually(lambda: len(ran) == 200)
            assert not worker.health().problems
