"""A consumer that forks while it reads a file."""

import os
import secrets
from io import BytesIO

import pytest

from faults.servers import Server
from holdfast import Holdfast


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("error", [None, SystemExit, OSError])
def test_a_forked_child_settles_nothing(
    standalone: Server, error: type[BaseException] | None
) -> None:
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        feed = hf.file_feed("logs", mode="share")
        feed.publish(BytesIO(b"one\n"), name="a")
        feed.seal()
        for file in feed.consumer("c").files():
            with file:
                pid = os.fork()
                if pid == 0:
                    try:
                        file.__exit__(error, error and error(), None)
                    finally:
                        os._exit(0)
                os.waitpid(pid, 0)
                assert list(file.lines()) == [b"one"]
                assert feed.status().left == 1
        assert feed.status().state == "over"
        assert feed.status().left == 0
