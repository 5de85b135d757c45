"""An exception of a signal handler is found behind the errors that replace it."""

import os
import signal
import socket
import threading

import pytest

from faults.interrupts import handler
from faults.ports import LOOPBACK
from holdfast import Holdfast
from holdfast.core.concurrency.interruption import raise_interruption


def interrupted() -> None:
    """Read as redis-py 6 does: it replaces what it takes for a timeout of the socket."""
    try:
        signal.raise_signal(signal.SIGALRM)
    except TimeoutError:
        raise TimeoutError("Timeout reading from socket")  # noqa: B904 (as redis-py does)


def failing() -> None:
    raise TimeoutError("Timeout reading from socket")


def call(read: object) -> None:
    """Make a call, and replace its error once more."""
    try:
        assert callable(read)
        read()
    except TimeoutError:
        raise ConnectionError("Timeout reading from 127.0.0.1")  # noqa: B904 (as redis-py does)


def test_an_interruption_that_was_replaced_twice_is_raised() -> None:
    with handler(TimeoutError):
        with pytest.raises(ConnectionError) as replaced:
            call(interrupted)
        with pytest.raises(TimeoutError) as raised:
            raise_interruption(replaced.value)
    between = replaced.value.__context__
    assert between is not None
    assert raised.value is between.__context__


def test_an_interruption_that_the_program_handles_is_not_raised_again() -> None:
    """The program makes a call in its `except` block, and the call fails for another reason."""
    with handler(TimeoutError):
        try:
            signal.raise_signal(signal.SIGALRM)
        except TimeoutError as handled:
            with pytest.raises(ConnectionError) as failed:
                call(failing)
            between = failed.value.__context__
            assert between is not None
            assert between.__context__ is handled  # noqa: PT017 (it is the cause of the other)
            raise_interruption(failed.value)


def test_an_interruption_is_raised_while_the_server_is_probed() -> None:
    """A server that is silent when a TLS connection is opened is connected to a second time."""
    with socket.create_server((LOOPBACK, 0)) as silent:

        def interrupt_the_second() -> None:
            with silent.accept()[0], silent.accept()[0]:
                os.kill(os.getpid(), signal.SIGALRM)
                ended.wait()

        ended, thread = threading.Event(), threading.Thread(target=interrupt_the_second)
        thread.start()
        url = f"rediss://{LOOPBACK}:{silent.getsockname()[1]}?socket_timeout=1"
        with handler(TimeoutError), Holdfast.from_url(url) as hf:
            with pytest.raises(TimeoutError) as raised:
                hf.lock("l").inspect()
            ended.set()
        thread.join()
    assert type(raised.value) is TimeoutError
