"""Fake Game's market: an item for gold, and three classes that never sell it twice.

    python market.py                        # one sale with each class, on a Valkey of its own
    python market.py redis://localhost      # on yours
    holdfast demo market                    # many sellers and buyers at once: what each class costs

A seller lists an item: it moves from the bag to the market. A buyer reads the offer and the purse;
then item and gold change hands in one step. The step fails if the item is gone or too expensive.
Between the read and the step, no other process may change what was read:

* `WatchedMarket` lets the server watch what it reads, and begins again if it was changed.
  Any sale or new offer is a change of the market, so the more players trade, the less is traded.
* `LockedMarket` takes one lock of Holdfast over the market. Every trader gets a turn.
* `ItemLockedMarket` takes a lock for the item and one for the purse. Only those wait who want the
  same.

The data are plain keys of redis-py. A purchase that does no more than this one could be a single
Lua script without any lock; locks are for those that also ask a payment service, a SQL database or
a rule in Python.
"""

import json
import secrets
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from redis import Redis, WatchError
from redis.backoff import NoBackoff
from redis.retry import Retry

from holdfast import Holdfast, StaleFence
from holdfast.server import EmbeddedServer

Command = tuple[str, ...]
"""A command of the server: its name, its key, its arguments."""


@dataclass(frozen=True, slots=True)
class Step:
    """Change the market in one step without interference.

    Attributes:
        reads: the keys that it depends on.
        names: of what it is about.
        decide: reads with the client that it is given; returns an answer, and the commands that
            follow from it. Called again if something that it read has changed meanwhile.
    """

    reads: Sequence[str]
    names: Sequence[str]
    decide: Callable[[Any], tuple[Any, Sequence[Command]]]


class Outcome(StrEnum):
    """What came of a purchase."""

    BOUGHT = "bought"
    GONE = "gone"
    TOO_DEAR = "too dear"


class Market(ABC):
    """What all ways have in common: the data, and what a sale is.

    Args:
        redis: a client with `decode_responses=True`; see `connect`.
        prefix: of all keys. Its braces keep them in one slot of a cluster.

    Attributes:
        retries: how often an action was begun again because another client was faster.
    """

    def __init__(self, redis: Redis, *, prefix: str = "fakegame:{market}") -> None:
        self.redis = redis
        self.prefix = prefix
        self.offers = f"{prefix}:offers"  # HASH of item → `price seller`
        self.retries = 0

    def purse(self, player: str) -> str:
        """Return the key of the gold of a player: a STRING."""
        return f"{self.prefix}:purse:{player}"

    def bag(self, player: str) -> str:
        """Return the key of the items of a player: a SET."""
        return f"{self.prefix}:bag:{player}"

    def look(self) -> str | None:
        """Return an item that is offered now; None if there are no offers."""
        item: str | None = self.redis.hrandfield(self.offers)
        return item

    def list_item(self, seller: str, item: str, price: int, *, timeout: float = 10.0) -> bool:
        """Offer an item for *price* gold, more than 0. False: it is not in the seller's bag.

        Raises:
            TimeoutError: others were in the way for *timeout* seconds; nothing has changed.
        """
        bag = self.bag(seller)

        def decide(read: Any) -> tuple[bool, list[Command]]:
            if not read.sismember(bag, item):
                return False, []
            return True, [("SREM", bag, item), ("HSET", self.offers, item, f"{price} {seller}")]

        return bool(self._alone(Step([bag], [f"item:{item}"], decide), timeout))

    def buy(self, buyer: str, item: str, *, timeout: float = 10.0) -> Outcome:
        """Buy what is offered, for the price that it has by then.

        Raises:
            TimeoutError: others were in the way for *timeout* seconds; nothing has changed.
        """
        purse = self.purse(buyer)

        def decide(read: Any) -> tuple[Outcome, list[Command]]:
            offer, gold = read.hget(self.offers, item), read.get(purse)
            if offer is None:
                return Outcome.GONE, []
            price, seller = offer.split(" ", 1)
            if int(price) > int(gold or 0):
                return Outcome.TOO_DEAR, []
            return Outcome.BOUGHT, [
                ("DECRBY", purse, price),
                ("INCRBY", self.purse(seller), price),
                ("HDEL", self.offers, item),
                ("SADD", self.bag(buyer), item),
            ]

        # The buyer's purse, too: who buys two things at once must not spend the same gold twice.
        step = Step([self.offers, purse], [f"item:{item}", f"purse:{buyer}"], decide)
        return Outcome(self._alone(step, timeout))

    @abstractmethod
    def _alone(self, step: Step, timeout: float) -> Any:
        """Decide and execute, while no other process changes what was read."""


class WatchedMarket(Market):
    """Optimistic: WATCH, read, MULTI, change, EXEC, and again if another process was faster."""

    def _alone(self, step: Step, timeout: float) -> Any:
        give_up_at = time.monotonic() + timeout
        with self.redis.pipeline() as pipe:
            while True:
                pipe.watch(*step.reads)  # whole keys: all offers, for they are one
                answer, commands = step.decide(pipe)
                if not commands:
                    return answer
                pipe.multi()
                for command in commands:
                    pipe.execute_command(*command)
                try:
                    pipe.execute()
                except WatchError:
                    self.retries += 1
                    if time.monotonic() >= give_up_at:
                        raise TimeoutError("others were always faster") from None
                else:
                    return answer


class LockedMarket(Market):
    """One lock for the whole market."""

    one_for_each = False

    # A buyer that the system froze for longer than its lease does not know that its turn is over.
    # `lease.lost` would show it, but between looking there and changing something it may be frozen
    # again. So the fence is compared where the data are, in the same step that changes them.
    FENCED = """
        -- KEYS: HASH of name → latest fence, the keys of the commands
        -- ARGV: JSON of [[name, fence], …], JSON of [[command, key, argument, …], …]
        local held = cjson.decode(ARGV[1])
        for _, lock in ipairs(held) do
          local latest = redis.call('HGET', KEYS[1], lock[1]) or '0'
          if tonumber(latest) > tonumber(lock[2]) then
            return {lock[1], lock[2], latest}
          end
        end
        for _, lock in ipairs(held) do
          redis.call('HSET', KEYS[1], lock[1], lock[2])
        end
        for _, command in ipairs(cjson.decode(ARGV[2])) do
          redis.call(unpack(command))
        end
        return {}
    """

    def __init__(
        self, redis: Redis, hf: Holdfast, *, prefix: str = "fakegame:{market}", lease: float = 10.0
    ) -> None:
        super().__init__(redis, prefix=prefix)
        self.fences = f"{prefix}:fences"
        self._hf = hf
        self._lease_s = lease
        self._fenced = redis.register_script(self.FENCED)

    def _alone(self, step: Step, timeout: float) -> Any:
        names = step.names if self.one_for_each else ["market"]
        with self._hf.lock_all(names, lease=self._lease_s).hold(timeout=timeout) as leases:
            answer, commands = step.decide(self.redis)
            if commands:
                self._change({name: lease.fence for name, lease in leases.items()}, commands)
            return answer

    def _change(self, fences: dict[str, int], commands: Sequence[Command]) -> None:
        """Execute all commands, or none if another process holds the lock by now.

        Raises:
            StaleFence: it was.
        """
        keys = [self.fences, *dict.fromkeys(command[1] for command in commands)]
        held = [(name, str(fence)) for name, fence in fences.items()]
        newer = self._fenced(keys=keys, args=[json.dumps(held), json.dumps(commands)])
        if newer:
            name, fence, latest = newer
            raise StaleFence(name, int(fence), int(latest))


class ItemLockedMarket(LockedMarket):
    """A lock for each item and each purse; `lock_all` takes both without deadlocks."""

    one_for_each = True


def connect(url: str) -> Redis:
    """Return a client for the data of the market.

    By default redis-py repeats a command when the connection breaks, also one that was carried out
    already: a player would pay twice.
    """
    client: Redis = Redis.from_url(
        url, decode_responses=True, socket_timeout=10.0, retry=Retry(NoBackoff(), 0)
    )
    return client


def show(market: Market) -> None:
    """Show one sale, and two that fail."""
    redis = market.redis
    redis.sadd(market.bag("jason22"), "Dragon Egg", "Crown of the Drowned King")
    redis.mset({market.purse("jill"): 15_000, market.purse("jack451"): 20_000})
    market.list_item("jason22", "Dragon Egg", 12_000)
    market.list_item("jason22", "Crown of the Drowned King", 68_000)
    print(type(market).__name__)
    for buyer, item in (
        ("jill", "Dragon Egg"),
        ("jack451", "Dragon Egg"),
        ("jack451", "Crown of the Drowned King"),
    ):
        print(f"  {buyer} wants the {item}: {market.buy(buyer, item)}")
    for player in ("jason22", "jill", "jack451"):
        items = ", ".join(redis.smembers(market.bag(player))) or "nothing"
        print(f"  {player} has {int(redis.get(market.purse(player)) or 0):,} gold and {items}")
    redis.delete(*redis.scan_iter(f"{market.prefix}:*", count=1000))


def main(url: str) -> None:
    """Show each class, on a market without other traders."""
    name = f"fakegame-{secrets.token_hex(4)}"
    prefix = name + ":{market}"
    with connect(url) as redis, Holdfast.from_url(url, namespace=name) as hf:
        show(WatchedMarket(redis, prefix=prefix))
        show(LockedMarket(redis, hf, prefix=prefix))
        show(ItemLockedMarket(redis, hf, prefix=prefix))


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        with EmbeddedServer.open(None) as server:
            main(server.url)
