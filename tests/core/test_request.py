"""What is written to a connection."""

import subprocess
import sys

import pytest
from redis import connection as flavour

from holdfast.core.transport.request import Packer, PreparedCommand, Request, packed
from holdfast.core.transport.settings import Settings

SHA1 = "a" * 40


@pytest.mark.parametrize("keys", [[], ["k"], ["{k}:1", b"{k}:2\r\n$1", "größer"]])
@pytest.mark.parametrize("rest", [[], [10_000, ""], ["é", b"\x00\r\n", -1]])
@pytest.mark.parametrize("first", ["", "host:1:ab.7", "größer", "$3\r\nx"])
def test_a_filled_form_is_a_packed_call(
    keys: list[str | bytes], rest: list[str | bytes | int], first: str
) -> None:
    assert PreparedCommand(SHA1, keys, *rest).filled(first) == Request.of_script(
        SHA1, keys, [first, *rest]
    )


INTERRUPTED = """
import signal
import sys
import time

from holdfast.core.transport.request import PreparedCommand, Packer, Request

def interrupt(*_):
    raise KeyboardInterrupt

packer = Packer()
signal.signal(signal.SIGALRM, interrupt)
until, interrupts = time.monotonic() + 1.0, 0
while time.monotonic() < until:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.00003)
        while True:
            Request.of_script("a" * 40, ["k"], [123_456, 2**60, -1])
            PreparedCommand("a" * 40, ["k"], 10_000, 3)
            packer.pack("SELECT", 12_345)
    except KeyboardInterrupt:
        interrupts += 1
print(interrupts)
"""


def test_a_signal_handler_that_raises_does_not_crash_the_packing_of_numbers() -> None:
    """hiredis reads a null pointer when the handler raises while it formats a number."""
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_redis_py_packs_its_own_commands_with_ours() -> None:
    connection = Settings.from_url("redis://localhost/3").connection(flavour, ("localhost", 1))
    assert isinstance(connection._command_packer, Packer)
    assert connection.pack_command("CLIENT SETINFO", "db", 3) == [
        packed(["CLIENT", "SETINFO", "db", "3"])
    ]


@pytest.mark.parametrize("part", [1.5, None, object()])
def test_only_text_and_whole_numbers_are_packed(part: object) -> None:
    """Other values raise TypeError, as hiredis does."""
    with pytest.raises(TypeError):
        packed(["SET", part])  # type: ignore[list-item]
