"""A server without free memory: it refuses new messages, and runs what frees memory."""

import pytest

from faults.servers import Server
from holdfast import Holdfast, ServerRefused


def test_a_full_server_lets_readers_read_acknowledge_and_leave(fresh_server: Server) -> None:
    with Holdfast.from_url(fresh_server.url, namespace="full") as hf:
        hf.mailbox("b").send(b"x" * 1000, sender="a")
        chat = hf.create_chat(["a", "b"], sender="a", body="x", chat_id="c", keep="until_read")
        chat.send("y", sender="a")
        fresh_server.execute("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(ServerRefused):
            hf.mailbox("b").send("more", sender="a")
        with pytest.raises(ServerRefused):
            chat.send("more", sender="a")
        with pytest.raises(ServerRefused):
            hf.create_chat(["a"], sender="a", body="x")
        with pytest.raises(ServerRefused):
            chat.join("z")
        inbox = hf.inbox("b")
        for batch in inbox.fetch():
            inbox.ack(batch)
        assert chat.history() == []
        hf.mailbox("b").ack(hf.mailbox("b").fetch())
        assert hf.mailbox("b").status().unread == 0
        assert chat.leave("b")
        assert chat.leave("a")
        fresh_server.execute("CONFIG", "SET", "maxmemory", "0")
        assert hf.chats() == []
