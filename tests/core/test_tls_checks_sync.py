# Generated from test_tls_checks_async.py by tools/unasync.py: edit that one, then `make sync`.
"""Whom TLS lets Holdfast talk to: a server that is vouched for, under the name that was asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from faults.servers import Server
from faults.tls import Tls
from holdfast import Holdfast, ServerUnavailable


@pytest.fixture(scope="module")
def tls(standalone: Server) -> Iterator[Tls]:
    """Its certificate is of an authority that nobody knows, for the loopback."""
    with Tls(standalone.address, names=["127.0.0.1"]) as tls:
        yield tls


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """Another authority."""
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    return tmp_path / "other.pem"


def refused(url: str) -> str:
    """Why nothing can be asked there."""
    with Holdfast.from_url(url, namespace="tls-checks") as hf:
        box = hf.mailbox("jill")
        with pytest.raises(ServerUnavailable) as raised:
            box.status()
    return str(raised.value)


def test_who_is_vouched_for_is_talked_to(tls: Tls) -> None:
    with Holdfast.from_url(tls.url, namespace="tls-checks") as hf:
        assert (hf.mailbox("jill").status()).unread == 0


def test_who_is_not_is_not(tls: Tls, stranger: Path) -> None:
    where = f"rediss://127.0.0.1:{tls.port}"
    for url in (where, f"{where}?ssl_ca_certs={stranger}"):
        assert "CERTIFICATE_VERIFY_FAILED" in refused(url)


def test_a_certificate_is_of_a_name(tls: Tls) -> None:
    """A server that is vouched for is not every server."""
    url = f"rediss://localhost:{tls.port}?ssl_ca_certs={tls.authority}"
    assert "Hostname mismatch" in refused(url)


def test_who_wants_no_check_has_to_say_so(tls: Tls) -> None:
    url = f"rediss://127.0.0.1:{tls.port}?ssl_cert_reqs=none&ssl_check_hostname=false"
    with Holdfast.from_url(url, namespace="tls-checks") as hf:
        assert (hf.mailbox("jill").status()).unread == 0


def test_nothing_is_said_in_the_clear(tls: Tls) -> None:
    """A URL without TLS gets no answer from a server that wants it."""
    reason = refused(f"redis://127.0.0.1:{tls.port}?socket_timeout=5")
    assert f"127.0.0.1:{tls.port}" in reason
