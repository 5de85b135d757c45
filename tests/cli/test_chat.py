"""Test `holdfast chat`: members, messages, and who holds messages back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cli.conftest import runner
from cli.filled_queue import HOSTILE, VISIBLE, Run, rows
from cli.programs import CTRL_C, on_terminal
from conftest import Site
from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually
from holdfast import Chat, Holdfast


@pytest.fixture
def chat(hf: Holdfast) -> Chat:
    """Create a chat with three members and two messages."""
    chat = hf.create_chat(
        ["jason22", "jeff24", "jill"], sender="jason22", body="hello", chat_id="827"
    )
    chat.send({"text": "hi"}, sender="jeff24")
    return chat


def test_chats_are_listed(chat: Chat, hf: Holdfast, run: Run) -> None:
    """List them by id, with the time of the newest message and without members."""
    hf.create_chat(["uma"], sender="uma", body="x", chat_id="0", keep="until_read")
    _, other, busy = run("chat", "ls").stdout.splitlines()
    assert (other.split()[:3], busy.split()[:3]) == (["0", "1", "1"], ["827", "3", "2"])
    first, second = rows(run("chat", "ls", "--json"))
    assert (first["keep"], "behind" in first) == ("until_read", False)
    assert (second["keep"], second["first_seq"], second["last_seq"]) == (1_000, 1, 2)
    assert (second["stored_bytes"] > 0, second["newest_at"][-1]) == (True, "Z")


def test_one_chat_is_shown(chat: Chat, hf: Holdfast, run: Run) -> None:
    """Show how far each member has read, and the messages; nothing is acknowledged."""
    hf.inbox("jill").ack(hf.inbox("jill").fetch()[0])
    before = chat.members()
    shown = run("chat", "show", "827").stdout
    assert "2, numbers 1 to 2" in shown
    assert "the newest 1,000, read or not" in shown
    assert shown.index("jeff24") < shown.index("jill")
    assert "hello" in shown
    assert '{"text": "hi"}' in shown
    (row,) = rows(run("chat", "show", "827", "--json"))
    assert {each["user"]: each["read_seq"] for each in row["behind"]} == before
    assert [(each["seq"], each["body"]) for each in row["latest"]] == [
        (1, "hello"),
        (2, {"text": "hi"}),
    ]
    assert chat.members() == before


def test_a_mailbox_is_shown(hf: Holdfast, run: Run) -> None:
    """Leave its messages unread; show the number of bytes for a binary message."""
    hf.mailbox("jack451").send(b"\x00" * 2000, sender="jill")
    shown = run("chat", "show", "jack451", "--mailbox").stdout
    assert "(2,000 bytes)" in shown
    assert "10,000 unread; more are refused" in shown
    (row,) = rows(run("chat", "show", "jack451", "--mailbox", "--json"))
    assert (row["unread"], row["latest"][0]["base64"][:4]) == (1, "AAAA")
    assert hf.mailbox("jack451").status().unread == 1


def test_an_unused_name_is_not_found(chat: Chat, hf: Holdfast, run: Run) -> None:
    """Exit with code 3 and offer a similar name; create nothing."""
    hf.mailbox("jack451").send("x", sender="jill")
    for command in (["show", "828"], ["tail", "828"], ["explain", "828"]):
        result = run("chat", *command)
        assert (result.exit_code, result.stdout) == (3, "")
        assert "there is no chat '828'" in result.stderr
        assert "did you mean '827'?" in result.stderr
    assert run("chat", "send", "828", "hi", "--as", "jill").exit_code == 3
    for command in ("show", "tail", "explain"):
        result = run("chat", command, "jack45", "--mailbox")
        assert (result.exit_code, result.stdout) == (3, "")
        assert "did you mean 'jack451'?" in result.stderr
    assert hf.chats() == ["827"]
    assert hf.mailboxes() == ["jack451"]


def test_untrusted_text_is_shown_as_text(hf: Holdfast, run: Run) -> None:
    """Escape ids, users and messages, also on 80 columns; JSON has them unchanged."""
    hf.create_chat([HOSTILE, "jill"], sender=HOSTILE, body="x " * 500, chat_id=HOSTILE, keep=1)
    for place in (hf.chat(HOSTILE), hf.mailbox(HOSTILE)):
        place.send(HOSTILE, sender=HOSTILE)
    hf.mailbox(HOSTILE).send("x" * 500, sender="u" * 60)
    for mailbox in ([], ["--mailbox"]):
        for command in ("show", "explain"):
            result = run("chat", command, HOSTILE, *mailbox)
            assert (result.exit_code, result.output.replace("\n", "").isprintable()) == (0, True)
            assert VISIBLE in result.output
        (row,) = rows(run("chat", "show", HOSTILE, *mailbox, "--json"))
        assert row["latest"][0]["body"] == row["latest"][0]["sender"] == HOSTILE
    assert run("chat", "send", HOSTILE, HOSTILE, "--as", "jack").output.rstrip("\n").isprintable()


def test_eighty_columns_are_enough(hf: Holdfast, home: Site) -> None:
    """Fold members, messages and advice into 80 columns."""
    hf.create_chat(
        ["u" * 60, "q"], sender="q", body="x " * 500, chat_id="c" * 70, keep="until_read"
    )
    hf.mailbox("m" * 70).send("x" * 500, sender="u" * 60)
    narrow = runner(home, COLUMNS="80")
    for command in ("show", "explain"):
        for name in (["c" * 70], ["m" * 70, "--mailbox"]):
            shown = narrow("chat", command, *name)
            assert shown.exit_code == 0, shown.output
            assert max(map(len, shown.stdout.splitlines())) <= 80


def test_a_text_is_sent(chat: Chat, hf: Holdfast, run: Run) -> None:
    """A member sends it to a chat; any user sends it to a mailbox, which may be new."""
    assert (
        run("chat", "send", "827", "yes", "--as", "jill").stdout
        == "sent to chat '827' as number 3\n"
    )
    assert rows(run("chat", "send", "827", "no", "--as", "jill", "--json")) == [
        {"chat": "827", "seq": 4}
    ]
    assert [(post.sender, post.body) for post in chat.history(limit=2)] == [  # type: ignore[union-attr]
        ("jill", "yes"),
        ("jill", "no"),
    ]
    sent = run("chat", "send", "jack451", "hi", "--as", "ops", "--mailbox")
    assert sent.stdout == "sent to mailbox 'jack451' as number 1\n"
    assert hf.mailbox("jack451").status().unread == 1


def test_what_is_refused(chat: Chat, hf: Holdfast, run: Run) -> None:
    """Refuse a non-member, a full mailbox and an empty text, each with its exit code."""
    non_member = run("chat", "send", "827", "hi", "--as", "zed")
    assert (non_member.exit_code, "'zed' is not a member" in non_member.stderr) == (4, True)
    hf.mailbox("jack451", capacity=1).send("x", sender="jill")
    full = run("chat", "send", "jack451", "hi", "--as", "jill", "--mailbox")
    assert (full.exit_code, "is full" in full.stderr) == (4, True)
    empty = run("chat", "send", "827", "", "--as", "jill")
    assert (empty.exit_code, "TEXT is empty" in empty.stderr) == (2, True)
    assert run("chat", "show", "x" * 600).exit_code == 2
    assert len(chat.history()) == 2


def test_no_member_holds_back_what_is_kept_by_number(hf: Holdfast, run: Run) -> None:
    """Name the member that comes too seldom and misses messages."""
    chat = hf.create_chat(["p", "q"], sender="p", body="x", chat_id="few", keep=5)
    for _ in range(9):
        chat.send("x", sender="p")
    output = run("chat", "explain", "few").stdout
    assert "no member holds any back" in output
    assert "'q' has missed 5 messages" in output
    (row,) = rows(run("chat", "explain", "few", "--json"))
    assert (row["held_back"], row["held_by"], row["since"]) == (0, [], None)
    assert [each["user"] for each in row["missed_by"]] == ["q"]


def test_who_holds_messages_back_is_named(hf: Holdfast, run: Run) -> None:
    """Print messages, bytes, since when, and for how long, until the member reads."""
    chat = hf.create_chat(
        ["omar", "nina", "rosa"], sender="omar", body="x", chat_id="all", keep="until_read"
    )
    for _ in range(9):
        chat.send("x" * 100, sender="omar")
    both = run("chat", "explain", "all").stdout
    assert "10 messages, about" in both
    assert "kept for 2 members who have read no further" in both

    inbox = hf.inbox("rosa")
    inbox.ack(inbox.fetch(limit=4)[0])
    output = run("chat", "explain", "all").stdout
    assert "4 messages of these are kept for 'nina' alone" in output
    assert "reads or leaves, or in 7 d if it stays silent" in output
    (row,) = rows(run("chat", "explain", "all", "--json"))
    assert (row["held_back"], row["idle_ttl"]) == (10, 604_800.0)
    assert row["held_back_bytes"] > 100
    assert row["since"].endswith("Z")
    assert [(each["user"], each["unread"]) for each in row["held_by"]] == [
        ("nina", 10),
        ("rosa", 6),
    ]
    assert row["held_by"][1]["lets_go_at"] > row["held_by"][1]["last_seen_at"]

    for user in ("nina", "rosa"):
        hf.inbox(user).ack(hf.inbox(user).fetch()[0])
    assert "All active members have read everything." in run("chat", "explain", "all").stdout


@pytest.mark.parametrize(
    ("overflow", "output"),
    [("reject", "senders get MailboxFull"), ("drop_oldest", "the oldest one is lost")],
)
def test_a_mailbox_that_is_not_read(hf: Holdfast, run: Run, overflow: str, output: str) -> None:
    """Print how many messages fit in, and what happens after that."""
    box = hf.mailbox("jack451", capacity=2, overflow=overflow)  # type: ignore[arg-type]
    box.send("x", sender="jill")
    assert "1 more message fits in." in run("chat", "explain", "jack451", "--mailbox").stdout
    box.send("x", sender="jill")
    assert output in run("chat", "explain", "jack451", "--mailbox").stdout
    (row,) = rows(run("chat", "explain", "jack451", "--mailbox", "--json"))
    assert (row["unread"], row["left"]) == (2, 0)


# Listening


@pytest.fixture
def place(standalone: Server, request: pytest.FixtureRequest) -> Iterator[Holdfast]:
    """Yield a client of a namespace of the test's own, on a server that programs can reach."""
    with Holdfast.from_url(standalone.url, namespace=request.node.name) as hf:
        yield hf


@pytest.mark.parametrize("mailbox", [False, True], ids=["chat", "mailbox"])
def test_tail_prints_each_message_once_and_acknowledges_none(
    place: Holdfast, standalone: Server, mailbox: bool
) -> None:
    """Print the last messages, then each new one once and in order; acknowledge none."""
    if mailbox:
        source = place.mailbox("jill")
        source.send("0", sender="p")
    else:
        source = place.create_chat(["p", "q"], sender="p", body="0", chat_id="jill")
    source.send("1", sender="p")
    argv = ["chat", "tail", "jill", "--last", "1", "--json", *["--mailbox"] * mailbox]
    where = ["--url", standalone.url, "--namespace", place.namespace]
    with Process.python("-m", "holdfast", *argv, *where, name="tail") as tail:
        eventually(lambda: '"1"' in tail.output)
        for number in range(2, 302):
            source.send(str(number), sender="p")
        eventually(lambda: '"301"' in tail.output)
        bodies = [line.split('"body": ')[1].strip('"}') for line in tail.output.splitlines()]
    assert bodies == [str(number) for number in range(1, 302)]
    if mailbox:
        assert place.mailbox("jill").status().unread == 302
    else:
        assert place.chat("jill").members() == {"p": 302, "q": 0}


def test_ctrl_c_ends_tail(place: Holdfast, standalone: Server) -> None:
    """Exit with code 130, without a traceback."""
    place.create_chat(["p"], sender="p", body="hello there", chat_id="c")
    where = {"HOLDFAST_URL": standalone.url, "HOLDFAST_NAMESPACE": place.namespace}
    code, shown = on_terminal("chat", "tail", "c", wait_for="hello there", say=CTRL_C, **where)
    assert (code, "Traceback" in shown) == (130, False), shown


def test_tail_warns_of_missed_messages(place: Holdfast, standalone: Server) -> None:
    """Warn of messages that were dropped, and of a chat that was created again."""
    chat = place.create_chat(["p"], sender="p", body="first", chat_id="c", keep=1)
    where = ["--url", standalone.url, "--namespace", place.namespace]
    with Process.python("-m", "holdfast", "chat", "tail", "c", *where, name="tail") as tail:
        eventually(lambda: "first" in tail.output)
        tail.pause()  # it cannot see each of them in time
        for number in range(50):
            chat.send(f"more-{number}", sender="p")
        tail.resume()
        eventually(lambda: "more-49" in tail.output)
        assert "were dropped before they were read" in tail.output
        with standalone.client() as client:
            client.delete(*client.scan_iter(f"{place.namespace}:*chat:c*"))
        place.create_chat(["p"], sender="p", body="anew", chat_id="c")
        eventually(lambda: "anew" in tail.output or tail.returncode is not None)
        assert "was deleted and created again" in tail.output or tail.returncode == 3


def test_tail_ends_when_the_chat_is_deleted(place: Holdfast, standalone: Server) -> None:
    """Exit with code 3 when the chat is deleted."""
    chat = place.create_chat(["p"], sender="p", body="hello", chat_id="c")
    where = ["--url", standalone.url, "--namespace", place.namespace]
    with Process.python("-m", "holdfast", "chat", "tail", "c", *where, name="tail") as tail:
        eventually(lambda: "hello" in tail.output)
        chat.leave("p")
        assert tail.wait() == 3
        assert "there is no chat 'c'" in tail.output
