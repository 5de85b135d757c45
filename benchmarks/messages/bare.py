"""The least that an inbox needs: a script that reads all chats, and one that acknowledges them.

It has no gaps, no list of chats that changes, no fairness, and no waiting: it shows what is
possible.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..bare import BareSocket

SEND = """
local number = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('ZADD', KEYS[2], number, ARGV[2])
return number
"""
FETCH = """
local last, read, found = redis.call('HGETALL', KEYS[1]), {}, {}
local cursors = redis.call('HGETALL', KEYS[2])
for i = 1, #cursors, 2 do read[cursors[i]] = tonumber(cursors[i + 1]) end
for i = 1, #last, 2 do
  local chat, newest = last[i], tonumber(last[i + 1])
  if newest > (read[chat] or 0) then
    found[#found + 1] = {
      chat, newest,
      redis.call('ZRANGE', ARGV[1] .. chat, '(' .. (read[chat] or 0), '+inf', 'BYSCORE')
    }
  end
end
return found
"""
NEWEST = "bare:newest"
MESSAGES = "bare:messages:"


class BareInbox:
    """The inbox of one user.

    Args:
        url: address of the server.
        user: the owner of the inbox.
        chats: the chats of the user.
    """

    def __init__(self, url: str, user: str, chats: Sequence[str]) -> None:
        self._socket = BareSocket(url)
        self._read, self._chats = f"bare:read:{user}", chats
        self._send, self._fetch = self._socket.learn(SEND), self._socket.learn(FETCH)

    def send(self, chat: str, sender: str, body: str) -> None:
        """Store a message."""
        packed = json.dumps([sender, body, self._socket.ask("INCR", "bare:id")])
        self._socket.ask("EVALSHA", self._send, 2, NEWEST, MESSAGES + chat, chat, packed)

    def fetch(self) -> int:
        """Read what is new; return how many messages."""
        return sum(len(messages) for _, _, messages in self._found())

    def fetch_and_ack(self) -> int:
        """Read what is new, and acknowledge it."""
        found = self._found()
        cursors = [word for chat, newest, _ in found for word in (chat, newest)]
        if cursors:
            self._socket.ask("HSET", self._read, *cursors)
        return sum(len(messages) for _, _, messages in found)

    def put_back(self, new: int) -> None:
        """Leave *new* messages of each chat unread."""
        newest = int(self._socket.ask("HGET", NEWEST, self._chats[0]))
        cursors = [word for chat in self._chats for word in (chat, newest - new)]
        self._socket.ask("HSET", self._read, *cursors)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _found(self) -> list[tuple[bytes, int, list[object]]]:
        answer = self._socket.ask("EVALSHA", self._fetch, 2, NEWEST, self._read, MESSAGES)
        return [(chat, newest, [*map(json.loads, packed)]) for chat, newest, packed in answer]
