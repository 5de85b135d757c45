"""TLS by the server itself, which wants to know its clients: Debian's redis-server can do that."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from faults.ports import LOOPBACK, Port
from faults.processes import Process
from faults.waiting import eventually
from holdfast import AsyncHoldfast, ServerUnavailable


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A folder with a certificate, its key, and who vouches for it."""
    authority = trustme.CA()
    made = authority.issue_cert(LOOPBACK)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    made.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    made.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    return tmp_path


@pytest.fixture
def port(keys: Path) -> Iterator[int]:
    """Where a server takes connections by TLS only, from clients with a certificate only."""
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


async def test_a_certificate_opens_all_connections(port: int, keys: Path) -> None:
    own = f"ssl_certfile={keys}/cert.pem&ssl_keyfile={keys}/key.pem"
    url = f"rediss://{LOOPBACK}:{port}?ssl_ca_certs={keys}/ca.pem"
    async with AsyncHoldfast.from_url(f"{url}&{own}", namespace="tls") as hf:
        box = hf.mailbox("jill")
        for body in ("hello", "x" * 300_000):
            await box.send(body, sender="jack")
            batch = await box.fetch(timeout=20)
            assert [message.body for message in batch.messages] == [body]
            await box.ack(batch)
        # So short that the connection of the bell may still be opening when the client is closed.
        assert not (await box.fetch(timeout=0.05)).messages
    async with AsyncHoldfast.from_url(url, namespace="tls") as stranger:
        with pytest.raises(ServerUnavailable):
            await stranger.mailbox("jill").status()
