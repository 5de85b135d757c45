"""Test Fake Garage: its check finds errors, and the disk of a phone outlives its process."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from faults.waiting import eventually_async
from holdfast_demo.example_files import example_file, load_example

INIT = example_file("fakegarage/__init__.py")
load_example(INIT)

from fakegarage.account import Account, Note  # type: ignore[import-not-found] # noqa: E402
from fakegarage.check import count, problems  # type: ignore[import-not-found] # noqa: E402
from fakegarage.day import Day  # type: ignore[import-not-found] # noqa: E402
from fakegarage.journal import Follower, Journal  # type: ignore[import-not-found] # noqa: E402
from fakegarage.radio import Radio  # type: ignore[import-not-found] # noqa: E402

CLIENTS = 30


@pytest.fixture
def day() -> Any:
    return Day.make(seed=1, clients=CLIENTS, seconds=10.0)


@pytest.fixture
def accounts(day: Any) -> dict[str, Any]:
    """Return accounts without losses: every user got everything once and acknowledged it."""
    accounts = {user: Account(user) for user in day.users}
    for acts in day.acts.values():
        for act in acts:
            accounts[act.user].add({"done": act.id, "seq": 0})
    for source, acts in day.written.items():
        for seq, act in enumerate(acts, 1):
            accounts[act.user].add({"done": act.id, "seq": seq})
            for reader in day.readers[source]:
                if reader != act.user:
                    accounts[reader].add(received(source, seq, act))
                    accounts[reader].add({"acked": source, "upto": seq})
    return accounts


def received(source: str, seq: int, act: Any) -> dict[str, Any]:
    message = {"from": act.user, "id": act.id, "text": act.text, "waited_s": 0.1}
    return {"got": source, "seq": seq, **message}


def some_chat(day: Any) -> str:
    """Return the chat with most messages."""
    chats = [source for source in day.readers if source not in day.users]
    return max(chats, key=lambda chat: len(day.written[chat]))


# The day


def test_a_seed_is_a_day() -> None:
    """Make the same day for the same seed, and another day for another seed."""
    days = [Day.make(seed=seed, clients=CLIENTS, seconds=10.0) for seed in (1, 1, 2)]
    assert days[0] == days[1]
    assert days[0] != days[2]


def test_a_day_makes_sense(day: Any) -> None:
    """Let only members write to a chat, and each user act in order of time."""
    for user, acts in day.acts.items():
        for act in acts:
            assert 0.0 <= act.at <= day.seconds
            if act.kind == "say":
                assert user in day.readers[act.to]
        assert [act.at for act in acts] == sorted(act.at for act in acts)
    begun = [act for acts in day.acts.values() for act in acts if act.kind == "begin"]
    joins = [act for acts in day.acts.values() for act in acts if act.kind == "join"]
    for act in begun:
        late = {join.user for join in joins if join.to == act.to}
        assert set(act.members) | late == set(day.readers[act.to])
    assert sorted(chain.from_iterable(day.processes)) == sorted(day.users)
    assert day.kills
    assert any(day.tunnels.values())


# The check


def test_a_day_without_losses(day: Any, accounts: dict[str, Any]) -> None:
    """Find no problem, and report the day as complete."""
    assert list(problems(day, accounts)) == []
    assert count(day, accounts, chats=False).complete
    assert count(day, accounts, chats=True).complete


def drop(day: Any, accounts: dict[str, Any]) -> None:
    """Remove one message from the middle of what a reader got."""
    chat = some_chat(day)
    reader = next(user for user in day.readers[chat] if len(accounts[user].got[chat]) > 2)
    del accounts[reader].got[chat][sorted(accounts[reader].got[chat])[1]]


def drop_the_last(day: Any, accounts: dict[str, Any]) -> None:
    chat = some_chat(day)
    reader = next(user for user in day.readers[chat] if accounts[user].got[chat])
    accounts[reader].got[chat].popitem()


def change(day: Any, accounts: dict[str, Any]) -> None:
    got = accounts[day.readers[some_chat(day)][-1]].got[some_chat(day)]
    seq = min(got)
    got[seq] = Note(got[seq].sender, got[seq].id, "Something else.")


def invent(day: Any, accounts: dict[str, Any]) -> None:
    chat = some_chat(day)
    accounts[day.readers[chat][-1]].got[chat][999] = Note("zed", "zed/1", "Boo!")


def write_twice(day: Any, accounts: dict[str, Any]) -> None:
    """Send a message again under another name, with the next number."""
    acts = day.written[some_chat(day)]
    accounts[acts[0].user].done[acts[0].id] = len(acts) + 1


def give_up(day: Any, accounts: dict[str, Any]) -> None:
    user = next(user for user in day.users if day.acts[user])
    del accounts[user].done[day.acts[user][-1].id]


def repeat(day: Any, accounts: dict[str, Any]) -> None:
    """Deliver a message again after it was acknowledged."""
    chat = some_chat(day)
    act, reader = day.written[chat][0], day.readers[chat][-1]
    accounts[reader].add(received(chat, 1, act))


def gap(day: Any, accounts: dict[str, Any]) -> None:
    accounts[day.users[0]].add({"gap": day.users[0], "first": 1, "last": 2})


def disorder(day: Any, accounts: dict[str, Any]) -> None:
    """Deliver the second message before the first."""
    chat = next(source for source, acts in day.written.items() if source in day.users and acts[1:])
    accounts[chat] = fresh = Account(chat)
    fresh.add(received(chat, 2, day.written[chat][1]))
    fresh.add(received(chat, 1, day.written[chat][0]))


@pytest.mark.parametrize(
    ("mischief", "shown"),
    [
        (drop, "does not have number"),
        (drop_the_last, "does not have number"),
        (change, "has something else as number"),
        (invent, "which no user has written"),
        (write_twice, "their numbers are not 1 to"),
        (give_up, "did not come to do"),
        (repeat, "again after acknowledging it"),
        (gap, "are lost"),
        (disorder, "after number 2"),
    ],
)  # fmt: skip
def test_what_must_not_happen_is_found(
    mischief: Callable[[Any, Any], None], shown: str, day: Any, accounts: dict[str, Any]
) -> None:
    """Find each single error."""
    mischief(day, accounts)
    found = list(problems(day, accounts))
    assert any(shown in problem for problem in found), found


def test_what_was_not_acknowledged_may_come_again(day: Any, accounts: dict[str, Any]) -> None:
    """Count it, and report no problem."""
    chat = some_chat(day)
    act, reader = day.written[chat][-1], day.readers[chat][-1]
    account, seq = accounts[reader], len(day.written[chat])
    account.acked[chat] = seq - 1
    if act.user == reader:
        account.add(received(chat, seq, act))
    account.add(received(chat, seq, act))
    assert account.repeats == 1
    assert list(problems(day, accounts)) == []


# What is on disk, and the line


def test_a_journal_goes_on_where_it_was_torn(tmp_path: Path) -> None:
    """Drop half a line; a follower never sees it."""
    path, follower = tmp_path / "jill.jsonl", Follower(tmp_path / "jill.jsonl")
    assert list(follower.news()) == []
    with Journal(path) as journal:
        journal.note({"done": "jill/1", "seq": 1})
    with path.open("ab") as file:
        file.write(b'{"done": "jill/2", "s')
    assert list(follower.news()) == [{"done": "jill/1", "seq": 1}]
    with Journal(path) as journal:
        assert [record["seq"] for record in journal.records()] == [1]
        journal.note({"done": "jill/2", "seq": 2}, {"done": "jill/3", "seq": 3})
    assert [record["seq"] for record in follower.news()] == [2, 3]


@pytest.mark.parametrize("mute", [False, True])
async def test_a_tunnel(tmp_path: Path, mute: bool) -> None:
    """Lose answers, and requests if it is mute; pass nothing until it is over."""
    received: list[bytes] = []
    lines: set[asyncio.StreamWriter] = set()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.add(writer)
        with contextlib.suppress(ConnectionError):  # a client without an answer may be gone already
            while line := await reader.readline():
                received.append(line)
                writer.write(line)
        writer.close()
        lines.remove(writer)

    async def say(line: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(tmp_path / "radio")
        try:
            writer.write(line)
            return await asyncio.wait_for(reader.readline(), 20.0)
        except ConnectionError:
            return b""
        finally:
            writer.close()

    server = await asyncio.start_unix_server(echo, tmp_path / "server")
    async with server, Radio(tmp_path / "radio", str(tmp_path / "server")) as radio:
        assert await say(b"1\n") == b"1\n"
        entering = asyncio.create_task(radio.lose(mute=mute))
        await asyncio.sleep(0)
        assert await say(b"2\n") == b""
        await entering
        assert await say(b"3\n") == b""
        radio.find()
        assert await say(b"4\n") == b"4\n"
    await eventually_async(lambda: not lines)
    assert received == [b"1\n", *[b"2\n"] * (not mute), b"4\n"]


@pytest.mark.long  # the same day as `holdfast demo chat`
def test_the_example_by_hand() -> None:
    """Run a short day in the folder of the examples; nothing is lost."""
    done = subprocess.run(
        [sys.executable, "-m", "fakegarage"],
        cwd=INIT.parents[1],
        capture_output=True,
        text=True,
        timeout=110.0,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Everybody has everything, in order.\n")
