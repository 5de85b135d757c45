"""The least that a fair lock needs: a socket for each caller, and a script for each call.

A waiter is served by a message on its own channel. There are no renewals, fences, retries or
timeouts, and a waiter that dies blocks all others: it is no lock to use, it shows what is possible.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from ...bare import BareSocket
from ..contender import Blocking, Hold, take_part

ACQUIRE = """
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) then return 1 end
redis.call('RPUSH', KEYS[2], ARGV[1])
return 0
"""
RELEASE = """
local successor = redis.call('LPOP', KEYS[2])
if not successor then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], successor, 'EX', ARGV[1])
return redis.call('PUBLISH', successor, '')
"""


class Bare(Blocking):
    """One connection per caller and lock."""

    def lock(self, name: str) -> Hold:
        socket, me = BareSocket(self.brief.url, protocol=3), uuid.uuid4().hex
        acquire, release = socket.learn(ACQUIRE), socket.learn(RELEASE)
        keys, lease_s = (f"bare:{name}", f"bare:{name}:queue"), self.brief.lease_s
        socket.ask("SUBSCRIBE", me)

        @contextmanager
        def hold() -> Iterator[None]:
            if not socket.ask("EVALSHA", acquire, 2, *keys, me, lease_s):
                socket.reply()  # the message of the last holder
            try:
                yield
            finally:
                socket.ask("EVALSHA", release, 2, *keys, lease_s)

        return hold


if __name__ == "__main__":
    take_part(Bare)
