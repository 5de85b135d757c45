"""What some reader could not take: it is refused, or comes as such, and blocks nobody."""

import json
from typing import Any

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, Message, Undecodable
from holdfast.messages.body import MAX_DEPTH, decoded_body

DEEPEST: Any = json.loads("[" * (MAX_DEPTH - 1) + '{"a":"[[\\"[["}' + "]" * (MAX_DEPTH - 1))


def write(site: Site, unit: str, seq: int, sender: bytes, body: bytes) -> None:
    """Put something into a log, as another program might."""
    prefix = f"{site.namespace}:{{{unit}}}"
    site.client.xadd(f"{prefix}:log", {sender: body}, id=f"{seq}-1")
    site.client.hset(f"{prefix}:meta", "top", seq)


@pytest.mark.parametrize(
    "body",
    [
        [DEEPEST],
        json.loads("[" * 600 + "null" + "]" * 600),
        [DEEPEST] * 3 + [None],
    ],
)
async def test_a_body_that_is_nested_too_deeply_is_not_sent(hf: AsyncHoldfast, body: Any) -> None:
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        await hf.mailbox("jack").send(body, sender="jill")
    assert not await hf.mailbox("jack").fetch()


@pytest.mark.parametrize("body", [DEEPEST, [[]] * 200, "[" * 500, {"]": "{" * 500}])
async def test_what_only_looks_deep_is_sent(hf: AsyncHoldfast, body: Any) -> None:
    """Many brackets, or brackets in texts, are no depth."""
    await hf.mailbox("jack").send(body, sender="jill")
    [message] = (await hf.mailbox("jack").fetch()).messages
    assert isinstance(message, Message)
    assert message.body == body


FOREIGN = {
    "deep": b"j" + b"[" * 500 + b"]" * 500,
    "endless": b"j" + b"[" * 100_000,
    "unfinished": b"j" + b"[" * 500 + b'"\\',
    "large": b"j" + b'"' + b"x" * (5 << 20) + b'"',
    "large bytes": b"b" + b"x" * ((1 << 20) + 1),
    "no size": b"x12 apples",
}


@pytest.mark.parametrize("name", FOREIGN)
async def test_what_another_program_wrote_blocks_nobody(
    hf: AsyncHoldfast, site: Site, name: str
) -> None:
    box = hf.mailbox("jack")
    chat = await hf.create_chat(["jack"], sender="jill", body=1, chat_id="c")
    await box.send(1, sender="jill")
    for unit in ("mailbox:jack", "chat:c"):
        write(site, unit, 2, b"jill", FOREIGN[name])
    await box.send(3, sender="jill")
    await chat.send(3, sender="jill")
    [batch] = await hf.inbox("jack").fetch()
    for messages in (
        (await box.fetch()).messages,
        batch.messages,
        await box.latest(),
        await chat.history(),
    ):
        assert [type(message) for message in messages] == [Message, Undecodable, Message]
        assert len(str(messages[1])) < 500
    await box.ack(await box.fetch())
    assert not await box.fetch()


async def test_a_large_name_of_a_sender_blocks_nobody(hf: AsyncHoldfast, site: Site) -> None:
    """It is cut; the message cannot be trusted either."""
    box = hf.mailbox("jack")
    await box.send(1, sender="jill")
    write(site, "mailbox:jack", 2, b"j" * (5 << 20), b"j2")
    [first, second] = (await box.fetch()).messages
    assert isinstance(first, Message)
    assert isinstance(second, Undecodable)
    assert len(second.sender) == 512
    assert "5,242,882 bytes" in second.reason


@pytest.mark.parametrize("end", [b'\\"' * 400_000, b'"' * 800_001, b"[]," * 250_000])
def test_the_depth_is_found_at_once(end: bytes) -> None:
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        decoded_body(b"j" + b"[" * (MAX_DEPTH + 1) + end)
