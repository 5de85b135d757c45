"""`Inbox.ack_all`: one call acknowledges the batches of many chats, each by itself."""

from typing import Any

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, Batch, DecodeError, NoSuchChat, NotAMember, StaleBatch
from holdfast.messages._async.log import ACK


async def news(hf: AsyncHoldfast, *chats: str) -> None:
    """Create chats of jack in which jill has sent two messages."""
    for chat_id in chats:
        chat = await hf.create_chat(["jack"], sender="jill", body=1, chat_id=chat_id)
        await chat.send(2, sender="jill")


async def acknowledged(hf: AsyncHoldfast, *chats: str) -> dict[str, int]:
    """Return up to which message jack has acknowledged each chat."""
    return {chat: (await hf.chat(chat).members())["jack"] for chat in chats}


async def test_all_batches_are_acknowledged(hf: AsyncHoldfast) -> None:
    chats = [f"c{n}" for n in range(70)]  # more than one call takes
    await news(hf, *chats)
    inbox = hf.inbox("jack")
    found = await inbox.fetch(limit=1000)
    await inbox.ack_all(found)
    assert await acknowledged(hf, *chats) == dict.fromkeys(chats, 2)
    assert await inbox.fetch() == []
    await inbox.ack_all(found)
    assert await acknowledged(hf, *chats) == dict.fromkeys(chats, 2), "harmless to repeat"


async def test_nothing_to_acknowledge(hf: AsyncHoldfast) -> None:
    inbox = hf.inbox("jack")
    await inbox.ack_all([])
    await inbox.ack_all(await inbox.fetch())
    await inbox.ack_all([Batch("c", (), None, 0, 0)])


async def test_an_older_batch_takes_nothing_back(hf: AsyncHoldfast) -> None:
    await news(hf, "c", "d")
    inbox = hf.inbox("jack")
    older = await inbox.fetch(limit=1)
    await inbox.ack_all([*await inbox.fetch(), *older])
    await inbox.ack_all(older)
    assert await acknowledged(hf, "c", "d") == {"c": 2, "d": 2}


async def test_a_refused_batch_stops_no_other(hf: AsyncHoldfast, site: Site) -> None:
    chats = ["left", "gone", "lost", "damaged", "fine", "last"]
    await news(hf, *chats)
    client: Any = site.client
    inbox = hf.inbox("jack")
    batches = {batch.source: batch for batch in await inbox.fetch()}
    assert set(batches) == set(chats)
    await hf.chat("left").leave("jack")
    for user in ("jack", "jill"):
        await hf.chat("gone").leave(user)
        await hf.chat("lost").leave(user)
    await news(hf, "lost")  # another chat of the same name
    client.hset(f"{site.namespace}:{{chat:damaged}}:meta", "floor", "1e400")
    errors: dict[str, type[Exception]] = {
        "left": NotAMember,
        "gone": NoSuchChat,
        "lost": StaleBatch,
        "damaged": DecodeError,
    }
    for chat, error in errors.items():
        others = [batches[each] for each in chats if each != chat]
        with pytest.raises(error, match=chat):
            await inbox.ack_all([batches[chat], *others])
    assert await acknowledged(hf, "fine", "last") == {"fine": 2, "last": 2}
    assert await acknowledged(hf, "lost") == {"lost": 0}
    client.hset(f"{site.namespace}:{{chat:damaged}}:meta", "floor", "1")
    assert await acknowledged(hf, "damaged") == {"damaged": 0}


async def test_only_batches_are_taken(hf: AsyncHoldfast) -> None:
    await news(hf, "c")
    inbox: Any = hf.inbox("jack")
    found = await inbox.fetch()
    with pytest.raises(TypeError, match="ack_all takes what fetch returned"):
        await inbox.ack_all([*found, 2])
    assert await acknowledged(hf, "c") == {"c": 0}, "nothing is acknowledged"


async def test_acknowledged_chats_are_the_users_own(hf: AsyncHoldfast, site: Site) -> None:
    """As after `ack`: their scores in the list of the user are 0 or more."""
    await news(hf, "c", "d", "e")
    inbox, client = hf.inbox("jack"), site.client
    await inbox.ack_all([each for each in await inbox.fetch() if each.source != "e"])
    scores: Any = client.zrange(f"{site.namespace}:{{inbox:jack}}:chats", 0, -1, withscores=True)
    own = {chat.decode() for chat, score in scores if chat and score >= 0}
    assert own == {"c", "d"}


async def test_one_call_takes_64_chats(
    hf: AsyncHoldfast, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster it takes those of one slot."""
    await news(hf, *(f"c{n}" for n in range(100)))
    inbox = hf.inbox("jack")
    found = await inbox.fetch(limit=1000)
    await inbox.ack_all(found)  # records that the user is active
    caller, calls = hf._resources.caller, list[Any]()
    call_many = caller.call_many

    async def counted(script: Any, steps: Any, **options: Any) -> Any:
        assert script is ACK
        calls.extend(steps)
        return await call_many(script, steps, **options)

    monkeypatch.setattr(caller, "call_many", counted)
    await inbox.ack_all(found)
    assert len(calls) == 2 if site.shape[0] == "standalone" else 2 < len(calls) <= 100
