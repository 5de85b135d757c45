# Generated from test_credentials_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Passwords and certificates of connections."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from redis import Redis
from redis.credentials import CredentialProvider
from redis.exceptions import ResponseError

from faults.ports import LOOPBACK, Port
from faults.processes import Process
from faults.servers import Server
from faults.tls import Tls
from faults.waiting import eventually
from holdfast import Holdfast, HoldfastError, ServerUnavailable
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport.redispy import error_reply, reply_of
from holdfast.core.transport.settings import Settings

# A password that changes while calls are made: redis-py asks its provider at each connection

INCREMENT = Script.of("test/increment", "#!lua\nreturn redis.call('INCR', KEYS[1])")


class ChangingPassword(CredentialProvider):
    """Returns the password that the test has set."""

    password = ""

    def get_credentials(self) -> tuple[str, str]:
        if not self.password:
            raise LookupError("no password is available")
        return "rotating", self.password

    def get_credentials_async(self) -> tuple[str, str]:
        return self.get_credentials()


def test_a_new_password_is_used_from_the_next_connection_on(fresh_server: Server) -> None:
    provider, unit = ChangingPassword(), Namespace.of("rotation").unit("counter", "hits")
    rule = ["on", "allkeys", "allchannels", "allcommands"]
    with Redis(port=fresh_server.port, credential_provider=provider) as client:
        caller = Caller(Settings.of(client))

    def increment() -> int:
        answer: int = caller.call(INCREMENT, unit, [unit.key("n")], [])
        return answer

    with pytest.raises(LookupError, match="no password"):
        increment()
    fresh_server.execute("ACL", "SETUSER", "rotating", ">old", *rule)
    provider.password = "old"
    assert increment() == 1
    fresh_server.execute("ACL", "SETUSER", "rotating", "resetpass", ">new")
    assert increment() == 2
    fresh_server.execute("CLIENT", "KILL", "USER", "rotating")
    time.sleep(0.05)
    with pytest.raises(ServerUnavailable, match=r"(?i)password"):
        increment()
    provider.password = "new"
    assert increment() == 3
    caller.close()


# TLS by the server itself, which wants to know its clients: Debian's redis-server can do that


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    authority = trustme.CA()
    made = authority.issue_cert(LOOPBACK)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    made.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    made.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    return tmp_path


@pytest.fixture
def port(keys: Path) -> Iterator[int]:
    """Yield the port of a server that accepts only TLS, and only client certificates."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("install Debian's redis-server: the bundled server has no TLS")
    files = {"tls-cert-file": "cert", "tls-key-file": "key", "tls-ca-cert-file": "ca"}
    options = [part for name, file in files.items() for part in (f"--{name}", f"{file}.pem")]
    with Port() as port:
        where = ["--bind", LOOPBACK, "--port", "0", "--tls-port", str(port.number), "--save", ""]
        process = Process(program, "--dir", str(keys), *where, *options, name="tls")
        with process:
            eventually(lambda: "Ready to accept" in process.output or not process.is_running)
            assert process.is_running, process.output
            yield port.number


def test_a_certificate_opens_all_connections(port: int, keys: Path) -> None:
    own = f"ssl_certfile={keys}/cert.pem&ssl_keyfile={keys}/key.pem"
    url = f"rediss://{LOOPBACK}:{port}?ssl_ca_certs={keys}/ca.pem"
    with Holdfast.from_url(f"{url}&{own}", namespace="tls") as hf:
        box = hf.mailbox("jill")
        for body in ("hello", "x" * 300_000):
            box.send(body, sender="jack")
            batch = box.fetch(timeout=20)
            assert [message.body for message in batch.messages] == [body]
            box.ack(batch)
        # So short that the notifier may still be connecting when the client is closed.
        assert not (box.fetch(timeout=0.05)).messages
    with Holdfast.from_url(url, namespace="tls") as anonymous, pytest.raises(ServerUnavailable):
        anonymous.mailbox("jill").status()


# With TLS, Holdfast accepts only a server with a trusted certificate for the requested name


@pytest.fixture(scope="module")
def tls(standalone: Server) -> Iterator[Tls]:
    """Yield a TLS server with a loopback certificate of an authority that is not trusted."""
    with Tls(standalone.address, names=["127.0.0.1"]) as tls:
        yield tls


@pytest.fixture
def other_authority(tmp_path: Path) -> Path:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    return tmp_path / "other.pem"


def refused(url: str) -> str:
    """Return the reason why Holdfast refuses the server."""
    with Holdfast.from_url(url, namespace="tls-checks") as hf:
        box = hf.mailbox("jill")
        with pytest.raises(ServerUnavailable) as raised:
            box.status()
    return str(raised.value)


def test_a_trusted_server_is_used(tls: Tls) -> None:
    with Holdfast.from_url(tls.url, namespace="tls-checks") as hf:
        assert (hf.mailbox("jill").status()).unread == 0


def test_a_server_of_another_authority_is_refused(tls: Tls, other_authority: Path) -> None:
    where = f"rediss://127.0.0.1:{tls.port}"
    for url in (where, f"{where}?ssl_ca_certs={other_authority}"):
        assert "CERTIFICATE_VERIFY_FAILED" in refused(url)


def test_a_certificate_is_of_a_name(tls: Tls) -> None:
    """A trusted certificate for another name is refused."""
    url = f"rediss://localhost:{tls.port}?ssl_ca_certs={tls.authority}"
    assert "Hostname mismatch" in refused(url)


def test_the_check_can_be_switched_off(tls: Tls) -> None:
    url = f"rediss://127.0.0.1:{tls.port}?ssl_cert_reqs=none&ssl_check_hostname=false"
    with Holdfast.from_url(url, namespace="tls-checks") as hf:
        assert (hf.mailbox("jill").status()).unread == 0


def test_nothing_is_sent_in_plain_text(tls: Tls) -> None:
    """A URL without TLS gets no answer from a server that wants it. The error says why."""
    reason = refused(f"redis://127.0.0.1:{tls.port}?socket_timeout=5")
    assert f"127.0.0.1:{tls.port}: it expects TLS" in reason
    assert "use a rediss:// URL" in reason


def test_a_server_without_tls_is_named_as_such(standalone: Server) -> None:
    """It waits for the end of a line, so the TLS handshake gets no answer at all."""
    reason = refused(f"rediss://127.0.0.1:{standalone.port}?socket_timeout=2")
    assert f"127.0.0.1:{standalone.port}: it does not use TLS" in reason
    assert "use a redis:// URL" in reason


def test_a_missing_file_of_certificates_is_named(tls: Tls, tmp_path: Path) -> None:
    where, missing = f"rediss://127.0.0.1:{tls.port}", tmp_path / "none.pem"
    both = f"{where}?ssl_certfile={missing}&ssl_keyfile={missing}"
    for name, url in {
        "ssl_ca_certs": f"{where}?ssl_ca_certs={missing}",
        "ssl_certfile": both,
    }.items():
        reason = refused(url)
        assert f"the file '{missing}' ({name}) does not exist" in reason


def test_a_server_with_too_many_clients_is_named_as_such(fresh_server: Server) -> None:
    """An asyncio connection seldom reads the error, because it breaks while it writes."""
    with Redis(port=fresh_server.port) as only:
        only.config_set("maxclients", 1)
        for _ in range(10):
            reason = refused(f"redis://127.0.0.1:{fresh_server.port}")
            assert "max number of clients reached" in reason


def test_a_missing_password_is_named_as_such_for_long_commands(fresh_server: Server) -> None:
    """Without a login, Redis 7.0 answers a command of more than ten arguments in its own way."""
    fresh_server.execute("CONFIG", "SET", "requirepass", "secret")
    hf = Holdfast.from_url(f"redis://127.0.0.1:{fresh_server.port}")
    with pytest.raises(HoldfastError, match="Authentication required"):
        hf.lock("stock").try_acquire()
    hf.close()


def test_a_protocol_error_without_a_login_has_the_code_of_a_missing_password() -> None:
    text = "ERR Protocol error: unauthenticated multibulk length"
    assert str(reply_of(text)) == f"NOAUTH Authentication required ({text})."
    assert str(error_reply(ResponseError(text.removeprefix("ERR ")))).startswith("NOAUTH")
