"""Cost of requests: members, bytes and chats count, and no user can flood another one."""

from __future__ import annotations

import time

import pytest

from faults.servers import Server
from holdfast import Limit
from holdfast.web import Limits
from holdfast.web.gateway import costs
from holdfast.web.token_buckets import TokenBuckets
from web.gateway.test_mailbox import PNG
from web.gateway.test_stream import device, raw
from web.running import opened

SLOW = Limit(100, per=100_000)
FEW = Limit(3, per=3_000)


@pytest.fixture
def url(standalone: Server) -> str:
    return standalone.url


def test_a_bucket_takes_costs() -> None:
    """A cost above the amount needs a full bucket, and leaves a debt."""
    now = [0.0]
    buckets = TokenBuckets(Limit(10, per=10), lambda: now[0])
    assert [buckets.take("jill", 6), buckets.take("jill", 6)] == [0.0, 2.0]
    now[0] = 6.0
    assert [buckets.take("jill", 25), buckets.take("jill")] == [0.0, 16.0]


def test_chats_have_few_members(url: str) -> None:
    """Neither at their beginning nor later can there be more."""
    with opened(url, "costs-members") as live:
        jill, members = live.of("jill"), [f"user{n}" for n in range(9_999)]
        answer = jill.post("/v1/chats", json={"members": members, "body": "hi"})
        assert (answer.status_code, "at most 100 members" in answer.text) == (413, True)
        assert live.hf.inbox("user0").chats() == []
        made = jill.post("/v1/chats", json={"members": members[:98], "body": "hi"})
        path = f"{made.headers['location']}/members"
        assert jill.post(path, json={"user": "jack"}).status_code == 204
        assert jill.post(path, json={"user": "jack"}).status_code == 204  # is one already
        assert jill.post(path, json={"user": "joe"}).status_code == 413
        assert len(jill.get(path).json()["members"]) == 100


def test_members_are_paid_for(url: str) -> None:
    """Each one that is added costs as much as a request."""
    with opened(url, "costs-create", Limits(user=SLOW)) as live:
        jill, members = live.of("jill"), [f"user{n}" for n in range(60)]
        codes = [
            jill.post("/v1/chats", json={"members": members, "body": 1}).status_code
            for _ in range(2)
        ]
        assert codes == [201, 429]


def test_a_repetition_is_not_charged_for_members(url: str) -> None:
    """It costs one unit, in any gateway, and neither a chat nor an invitation.

    The user pays 61 for the chat, 9 for repetitions, 61 for a refused chat, and 70 for repetitions.
    """
    few = Limit(1, per=1_000)
    limits = Limits(user=Limit(201, per=201_000), chats=few, invitations=few)
    body = {"members": [f"user{n}" for n in range(60)], "body": 1}
    key = {"Idempotency-Key": "k"}
    with opened(url, "costs-repeat", limits) as live, opened(url, "costs-repeat", limits) as other:
        jill = live.of("jill")
        [chat] = {jill.post("/v1/chats", json=body, headers=key).text for _ in range(10)}
        assert jill.post("/v1/chats", json=body).status_code == 429
        jill = other.of("jill")
        assert {jill.post("/v1/chats", json=body, headers=key).text for _ in range(70)} == {chat}
        assert jill.post("/v1/chats", json=body, headers=key).status_code == 429
        assert len(live.hf.inbox("jill").chats()) == 1


def test_a_repetition_by_another_user_creates_a_chat(url: str) -> None:
    """As does one under another key, and one after its chat is gone."""
    with opened(url, "costs-repeat-other") as live:
        body, key = {"members": [], "body": 1}, {"Idempotency-Key": "k"}
        answers = [
            live.of(user).post("/v1/chats", json=body, headers={"Idempotency-Key": key})
            for user, key in (("jill", "k"), ("jack", "k"), ("jill", "l"))
        ]
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.json()["id"] for answer in answers}) == 3
        jill, members = live.of("jill"), f"{answers[0].headers['location']}/members/me"
        assert jill.delete(members).status_code == 204
        again = jill.post("/v1/chats", json=body, headers=key)
        assert (again.status_code, again.json()) == (201, answers[0].json())
        assert len(live.hf.inbox("jill").chats()) == 1


def test_bytes_are_paid_for(url: str) -> None:
    """Bytes count in requests and in frames."""
    with opened(url, "costs-bytes", Limits(user=SLOW)) as live:
        jill, jack = live.of("jill"), live.of("jack")
        codes = [jill.post("/v1/mailboxes/joe", json="x" * 10**6).status_code for _ in range(5)]
        assert codes == [201, 201, 201, 429, 429]
        assert jack.post("/v1/mailboxes/joe", json="x").status_code == 201
        assert live.of("joe").get("/v1/mailbox").status_code == 200
        with device(live, "jim", sources=[]) as jim:
            for _ in range(5):
                jim.say(type="send", to="mailbox:joe", body="x" * 10**6)
            assert [jim.hear("sent")["seq"] for _ in range(3)] == [5, 6, 7]
            jim.silent()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", ["/v1/inbox", "/v1/inbox/unread", "/v1/chats"])
def test_chats_that_are_looked_at_are_paid_for(url: str, path: str) -> None:
    """A request reads all chats of the user, so it costs more with more chats."""
    with opened(url, f"costs{path.replace('/', '-')}", Limits(user=SLOW)) as live:
        for _ in range(400):
            live.hf.create_chat([], sender="jill", body=1)
        live.hf.create_chat([], sender="jack", body=1)
        codes = [live.of("jill").get(path).status_code for _ in range(8)]
        assert codes == [200] * 4 + [429] * 4
        assert [live.of("jack").get(path).status_code for _ in range(8)] == [200] * 8
        with raw(live) as phone:
            phone.say(type="hello", token=live.tokens.issue("jill"))
            assert phone.hear("error")["problem"]["status"] == 429


def test_chats_that_are_acknowledged_together_are_paid_for(url: str) -> None:
    with opened(url, "costs-ack-all", Limits(user=SLOW)) as live:
        for n in range(100):
            live.hf.create_chat(["jill"], sender="jack", body=1, chat_id=f"c{n}")
        found = live.hf.inbox("jill").fetch(limit=1000)
        positions = {each.source: f"{each.epoch}:{each.upto}:{each.upto_ms}" for each in found}
        jill, body = live.of("jill"), {"positions": positions}
        codes = [jill.post("/v1/inbox/ack-all", json=body).status_code for _ in range(20)]
        assert codes == [204] * 16 + [429] * 4
        assert live.hf.inbox("jill").fetch() == []


def test_a_stream_reads_only_the_chats_with_news(url: str) -> None:
    """A message costs its reader nothing, however many chats there are."""
    with opened(url, "costs-news", Limits(user=Limit(4, per=4_000))) as live:
        chats = [live.hf.create_chat(["jill"], sender="jack", body=n) for n in range(60)]
        with device(live, "jill") as jill:
            assert {jill.hear("batch")["messages"][0]["body"] for _ in chats} == {*range(60)}
            for n in range(20):
                chats[n].send(f"news {n}", sender="jack")
                assert jill.hear("batch")["messages"][0]["body"] == f"news {n}"


def test_streams_read_chats_at_a_bounded_rate(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes meanwhile waits; the mailbox does not."""
    monkeypatch.setattr(costs, "CHATS", 1)
    with opened(url, "costs-looks", Limits(user=Limit(4, per=4_000))) as live:
        chat = live.hf.create_chat(["jill"], sender="jack", body=0)
        with device(live, "jill") as jill:
            assert jill.hear("batch")["messages"][0]["body"] == 0
            for n in range(1, 6):
                chat.send(n, sender="jack")
                time.sleep(0.3)
            live.hf.mailbox("jill").send("mail", sender="jack")
            frames = list(iter(lambda: jill.hear("batch")["messages"][0]["body"], "mail"))
            assert frames == [*range(1, 1 + len(frames))]
            assert len(frames) <= 4
            jill.silent()


def test_frames_count_for_their_address(url: str) -> None:
    limits = Limits(address=Limit(4, per=4_000))
    with opened(url, "costs-frames", limits) as live, device(live, "jill", sources=[]) as jill:
        for n in range(5):
            jill.say(type="send", to="mailbox:jack", body=n)
        assert [jill.hear("sent")["seq"] for _ in range(3)] == [1, 2, 3]
        jill.silent()


def test_one_user_creates_few_chats(url: str) -> None:
    """And adds the same user to few of them, also to chats that are there."""
    with opened(url, "costs-chats", Limits(chats=Limit(6, per=6_000), invitations=FEW)) as live:
        jill, jack = live.of("jill"), live.of("jack")
        made = [jill.post("/v1/chats", json={"members": ["joe"], "body": 1}) for _ in range(4)]
        assert [answer.status_code for answer in made] == [201] * 3 + [429]
        chat = jill.post("/v1/chats", json={"members": [], "body": 1}).headers["location"]
        assert jill.post(f"{chat}/members", json={"user": "joe"}).status_code == 429
        assert jill.post(f"{chat}/members", json={"user": "jim"}).status_code == 204
        codes = [
            jill.post("/v1/chats", json={"members": [], "body": 1}).status_code for _ in range(2)
        ]
        assert codes == [201, 429]
        assert jack.post("/v1/chats", json={"members": ["joe"], "body": 1}).status_code == 201
        assert len(live.hf.inbox("joe").chats()) == 4


def test_messages_that_are_not_answered_are_few(url: str) -> None:
    """Of each sender to each owner, over HTTP and streams; an answer lifts the limit."""
    with opened(url, "costs-mail", Limits(unanswered=FEW)) as live:
        jill = live.of("jill")
        send = lambda to: jill.post(f"/v1/mailboxes/{to}", json=1).status_code  # noqa: E731
        assert [send("jack") for _ in range(5)] == [201] * 3 + [429] * 2
        assert [send("joe"), send("jill")] == [201, 201]
        with device(live, "jill", sources=[]) as phone:
            phone.say(type="send", to="mailbox:jack", body=1)
            assert phone.hear("error")["problem"]["status"] == 429
        assert live.of("jack").post("/v1/mailboxes/jill", json="go on").status_code == 201
        assert [send("jack") for _ in range(5)] == [201] * 5


def test_a_full_mailbox_reveals_nothing_about_its_owner(url: str) -> None:
    """Neither how much fits, nor since when it was not read."""
    with opened(url, "costs-full") as live:
        live.hf.mailbox("jack", capacity=1).send(PNG, sender="joe")
        answer = live.of("jill").post("/v1/mailboxes/jack", json=1)
        assert (answer.status_code, answer.json()) == (
            409,
            {
                "type": "urn:holdfast:problem:mailbox-full",
                "title": "The mailbox is full",
                "status": 409,
                "detail": "the mailbox of this user takes no more; try again later",
            },
        )
