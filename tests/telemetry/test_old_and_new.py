"""Versions that know nothing of traces, beside those that do."""

import pytest

from conftest import Site
from holdfast import Holdfast, Message, TraceContext, use_trace
from holdfast.core.trace import stored
from telemetry.recording import TRACE

STORED = stored(TRACE).encode()


def entry(site: Site, box: str) -> str:
    """Return the key of the log of a mailbox."""
    return f"{site.namespace}:{{mailbox:{box}}}:log"


def test_a_message_of_an_older_version_has_no_trace(site: Site) -> None:
    """It is stored as it ever was; so is one of ours that is sent in no trace."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        hf.mailbox("jack").send("hi", sender="jill")
        [(_, fields)] = site.client.xrange(entry(site, "jack"))
        assert fields == {b"jill": b'j"hi"'}
        [message] = hf.mailbox("jack").latest()
        assert isinstance(message, Message)
        assert message.trace is None


def test_an_older_version_reads_what_has_a_trace(site: Site) -> None:
    """It looks at the first field only, and that is as it ever was."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        with use_trace(TRACE):
            for sender in ("jill", "trace"):
                hf.mailbox("jack").send("hi", sender=sender)
        [(_, fields), _] = site.client.xrange(entry(site, "jack"))
        assert next(iter(fields.items())) == (b"jill", b'j"hi"')
        first, second = hf.mailbox("jack").fetch().messages
        assert isinstance(first, Message)
        assert isinstance(second, Message)
        assert (second.sender, second.body, first.trace, second.trace) == (
            "trace",
            "hi",
            TRACE,
            TRACE,
        )


@pytest.mark.parametrize("trace", [b"nonsense", b"x" * 569, b"\xff\xfe", b"", STORED])
def test_what_another_program_wrote_as_a_trace_spoils_no_message(site: Site, trace: bytes) -> None:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        box = hf.mailbox("jack")
        for body in ("one", "two"):
            box.send(body, sender="jill")
        log = entry(site, "jack")
        [(_, second)] = [(name, name) for name, _ in site.client.xrange(log)][1:]
        site.client.xdel(log, second)
        site.client.xadd(log, {"jill": 'j"two"', "trace": trace}, id=_next(second))
        first, found = box.fetch().messages
        assert isinstance(found, Message)
        assert (first.seq, found.seq, found.body) == (1, 2, "two")
        assert found.trace == (TRACE if trace == STORED else None)


def _next(name: bytes) -> str:
    """Return the next stream id with the same first number."""
    number, _, sent = name.decode().partition("-")
    return f"{number}-{int(sent) + 1}"


def test_many_with_traces_come_in_pages(site: Site) -> None:
    """Where one page ends the next one begins, though there is more than an id."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        box = hf.mailbox("jack")
        for n in range(70):
            with use_trace(TRACE if n % 3 else None):
                box.send(n, sender="jill")
        for messages in (box.fetch(limit=60).messages, box.latest(60)):
            assert len(messages) == 60
            numbers = [message.seq for message in messages]
            assert numbers == list(range(numbers[0], numbers[0] + 60))
            traces = [message.trace for message in messages if isinstance(message, Message)]
            assert traces == [TRACE if (seq - 1) % 3 else None for seq in numbers]


def test_a_wrong_trace_is_sent_as_none(site: Site) -> None:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        with use_trace(TraceContext("mine", "x" * 5000)):
            hf.mailbox("jack").send("hi", sender="jill")
        [message] = hf.mailbox("jack").fetch().messages
        assert isinstance(message, Message)
        assert message.trace is None
