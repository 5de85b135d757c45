"""The least that a task queue with results needs: a socket, a list, and a script for each call.

There are no leases, retries, priorities or delays, and a killed worker loses its tasks: it is no
queue to use, it shows what is possible.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import chain

from ...bare import BareSocket
from ..contender import ANSWER_S, BATCH, RESULT_TTL_S, Blocking, Brief, take_part
from ..task import touch

READY = "bare:ready"
RESULT = "bare:result:"

ENQUEUE = "return redis.call('RPUSH', KEYS[1], unpack(ARGV))"
STEP = """
for i = 3, #ARGV, 2 do
  redis.call('SET', KEYS[2] .. ARGV[i], ARGV[i + 1], 'EX', ARGV[2])
end
return redis.call('LPOP', KEYS[1], ARGV[1])
"""


class Bare(Blocking):
    """A task is a JSON list of its arguments. A worker takes as many at once as it has places."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._socket = BareSocket(brief.url)
        self._enqueue = self._socket.learn(ENQUEUE)

    def _packed(self, number: int) -> str:
        return json.dumps(self.brief.arguments(number), separators=(",", ":"))

    def enqueue(self, number: int) -> int:
        self._socket.ask("EVALSHA", self._enqueue, 1, READY, self._packed(number))
        return number

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        for start in range(0, len(numbers), BATCH):
            packed = map(self._packed, numbers[start : start + BATCH])
            self._socket.ask("EVALSHA", self._enqueue, 1, READY, *packed)

    def result(self, handle: int) -> int | None:
        deadline_s = time.monotonic() + ANSWER_S
        while (found := self._socket.ask("GET", f"{RESULT}{handle}")) is None:
            if time.monotonic() > deadline_s:
                return None
            time.sleep(0.01)
        return int(found)

    def work(self) -> None:
        step, places = self._socket.learn(STEP), self.brief.places
        done: list[tuple[int, int]] = []
        while True:
            done_ids = chain.from_iterable(done)
            tasks = self._socket.ask(
                "EVALSHA", step, 2, READY, RESULT, places, RESULT_TTL_S, *done_ids
            )
            if not tasks:
                popped = self._socket.ask("BLPOP", READY, 1)
                tasks = popped[1:] if popped else []
            done = [(arguments[0], touch(*arguments)) for arguments in map(json.loads, tasks)]


if __name__ == "__main__":
    take_part(Bare)
