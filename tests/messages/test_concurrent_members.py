"""Members that join, leave, send and read at the same time."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast import Chat, Holdfast, Inbox, Message, NoSuchChat


def test_the_last_two_leave_together(hf: Holdfast) -> None:
    with ThreadPoolExecutor(3) as threads:
        for n in range(20):
            name = f"c{n}"
            chat = hf.create_chat(["a", "b"], sender="a", body=1, chat_id=name)
            leaving = [threads.submit(chat.leave, user) for user in ("a", "b")]
            joining = threads.submit(chat.join, "c", start="floor")
            assert all(each.result() for each in leaving)
            try:
                assert joining.result()
            except NoSuchChat:
                assert hf.inbox("c").chats() == []
            else:
                assert chat.members() == {"c": 0}
                [batch] = hf.inbox("c").fetch()
                assert batch.upto == 1
                assert chat.leave("c")
            with pytest.raises(NoSuchChat):
                chat.members()


SENDERS = ["a", "b", "c"]
PER_SENDER = 100


def join_and_leave(chat: Chat) -> None:
    rng = random.Random(1)
    for _ in range(60):
        if rng.random() < 0.5:
            chat.join("guest", start="floor")
        else:
            chat.leave("guest")


def read(inbox: Inbox, seed: int) -> list[tuple[int, object]]:
    """Read as one of two devices until all is read; return the number and body of each message."""
    rng = random.Random(seed)
    found: list[tuple[int, object]] = []
    while any(inbox.unread().values()):
        for batch in inbox.fetch(limit=rng.randint(1, 40)):
            assert batch.gap is None
            found += [(m.seq, m.body) for m in batch.messages if isinstance(m, Message)]
            if rng.random() < 0.8:
                inbox.ack(batch)
    return found


def test_many_send_and_the_reader_gets_everything_in_one_order(hf: Holdfast) -> None:
    chat = hf.create_chat([*SENDERS, "r"], sender="a", body="0", chat_id="c", keep=100_000)

    def send(user: str) -> None:
        for n in range(PER_SENDER):
            chat.send(f"{user}{n}", sender=user)

    with ThreadPoolExecutor(6) as threads:
        going = threads.submit(join_and_leave, chat)
        reading = [threads.submit(read, hf.inbox("r"), seed) for seed in (2, 3)]
        for each in [threads.submit(send, user) for user in SENDERS]:
            each.result()
        going.result()
        shown = [*reading[0].result(), *reading[1].result(), *read(hf.inbox("r"), 4)]
    history = chat.history(limit=1000)
    kept = {m.seq: m.body for m in history if isinstance(m, Message)}
    assert sorted(kept) == list(range(1, 3 * PER_SENDER + 2))
    assert set(shown) == set(kept.items())
    for user in SENDERS:
        own = [body for _, body in sorted(kept.items()) if str(body).startswith(user)]
        assert own == [f"{user}{n}" for n in range(PER_SENDER)]
