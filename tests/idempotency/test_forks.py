"""A process that forks while it holds a call."""

import os
import secrets

import pytest

from faults.servers import Server
from holdfast import Holdfast


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_does_not_free_the_key(standalone: Server) -> None:
    with (
        Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf,
        hf.idempotency("payments").begin("order-17", b"5 EUR") as call,
    ):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                assert call.lost
                call.__exit__(SystemExit, SystemExit(), None)
                assert not call.release()
                code = 0
            except BaseException as error:  # noqa: BLE001 (the child must never return)
                os.write(2, repr(error).encode())
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert not call.lost
        assert hf.idempotency("payments").begin("order-17", b"5 EUR").state == "running"
        assert call.finish(b"paid")
