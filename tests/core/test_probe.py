"""The probe of a server that closes connections."""

import gc
import socket
import struct
import sys
import threading
from collections.abc import Iterator

import pytest

from faults.ports import LOOPBACK
from holdfast.core.transport.probe import probe

PROBES = 1_000
RESET = struct.pack("ii", 1, 0)  # l_onoff, l_linger: close by a reset


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Let threads change places as often as possible, so that a reset comes at any moment."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.filterwarnings("error")
def test_connections_that_are_reset_leave_no_socket_open() -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:

        def reset_all() -> None:
            for _ in range(2 * PROBES):
                connection, _ = listener.accept()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                connection.close()

        thread = threading.Thread(target=reset_all)
        thread.start()
        found = [probe(listener.getsockname(), "plain", 20.0) for _ in range(PROBES)]
        thread.join()
    gc.collect()
    assert found == [None] * PROBES
