"""Frames are cut where they end, however the bytes arrive; replies find their requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.conversation import Conversation
from faults.resp import Framer, first_word

FRAMES = [
    b"+OK\r\n",
    b"-ERR no\r\n",
    b":42\r\n",
    b"_\r\n",
    b"#t\r\n",
    b",1.5\r\n",
    b"$5\r\na\r\nb!\r\n",
    b"$0\r\n\r\n",
    b"$-1\r\n",
    b"*-1\r\n",
    b"*0\r\n",
    b"*2\r\n*1\r\n$1\r\na\r\n*2\r\n:1\r\n*0\r\n",
    b"%1\r\n+key\r\n~2\r\n:1\r\n:2\r\n",
    b"|1\r\n+ttl\r\n:9\r\n*1\r\n+value\r\n",
    b"*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n",
    b">2\r\n$7\r\nmessage\r\n+x\r\n",
    b"=7\r\ntxt:abc\r\n",
    b"!3\r\nERR\r\n",
    b"*1\r\n$4\r\nPING\r\n",
    b"PING\r\n",
    b"$300\r\n" + b"\r\n" * 150 + b"\r\n",
]


@given(st.lists(st.sampled_from(FRAMES)), st.data())
def test_frames_are_whole_however_they_arrive(frames: list[bytes], data: st.DataObject) -> None:
    framer, stream, found = Framer(), b"".join(frames), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += framer.feed(stream[:size])
        stream = stream[size:]
    assert found == frames
    assert framer.rest == b""


def test_what_is_not_whole_is_kept() -> None:
    framer = Framer()
    assert framer.feed(b"+OK\r\n$5\r\nab") == [b"+OK\r\n"]
    assert framer.rest == b"$5\r\nab"


@pytest.mark.parametrize(
    ("frame", "word"),
    [
        (b"*2\r\n$3\r\nget\r\n$1\r\na\r\n", "GET"),
        (b"ping hello\r\n", "PING"),
        (b">2\r\n$7\r\nmessage\r\n+x\r\n", "MESSAGE"),
        (b"", ""),
    ],
)
def test_the_first_word_names_the_command(frame: bytes, word: str) -> None:
    assert first_word(frame) == word


def request(*words: bytes) -> bytes:
    """Encode a request; an array of bulks, as the pushes of RESP2 are."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_subscription_is_answered_by_its_first_confirmation(protocol: int) -> None:
    """The pushes after it, and those in between, answer nothing."""
    talk = Conversation()
    talk.asked(request(b"HELLO", b"%d" % protocol))
    talk.answered(b"%0\r\n" if protocol == 3 else b"*0\r\n")
    subscribe, ping = request(b"SUBSCRIBE", b"a", b"b"), request(b"PING")
    mark = b">" if protocol == 3 else b"*"
    first, second, message = (
        mark + request(*words)[1:]
        for words in ((b"subscribe", b"a"), (b"subscribe", b"b"), (b"message", b"a", b"text"))
    )

    talk.asked(subscribe)
    talk.asked(ping)

    assert talk.answered(first) == subscribe
    assert talk.answered(message) is None
    assert talk.answered(second) is None
    assert not talk.quiet.is_set()
    assert talk.answered(b"+PONG\r\n") == ping
    assert talk.quiet.is_set()


def test_a_refused_subscription_is_answered_by_the_error() -> None:
    talk = Conversation()
    talk.asked(request(b"SSUBSCRIBE", b"a"))
    assert talk.answered(b"-MOVED 1 127.0.0.1:7000\r\n") == request(b"SSUBSCRIBE", b"a")
