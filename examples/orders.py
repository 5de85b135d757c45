"""An order: reserve, charge, ship; and what was done is undone if a later step fails.

    python examples/orders.py [URL]

The bank and the store are objects here. Both recognize the id of a step, so a repetition does
nothing. Without a URL it starts a server of its own (extra `server`).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from holdfast import GiveUp, Holdfast, Retry, TaskFailed, TaskRegistry, current_task
from holdfast.testing import TaskBench

tasks = TaskRegistry()


class OutOfStock(Exception):
    """The store has none left."""


@dataclass
class Bank:
    """Charges once for each key."""

    charges: dict[str, int] = field(default_factory=dict)

    def charge(self, key: str, price: int) -> None:
        self.charges.setdefault(key, price)

    def refund(self, key: str) -> None:
        self.charges[key] = 0

    @property
    def taken(self) -> int:
        return sum(self.charges.values())


@dataclass
class Store:
    """Reserves once for each key."""

    stock: dict[str, int]
    reserved: dict[str, str] = field(default_factory=dict)
    broken: bool = False

    def reserve(self, key: str, item: str) -> None:
        if key not in self.reserved:
            if not self.stock[item]:
                raise OutOfStock(item)
            self.stock[item] -= 1
            self.reserved[key] = item

    def release(self, key: str) -> None:
        if item := self.reserved.pop(key, None):
            self.stock[item] += 1

    def ship(self, key: str) -> str:
        if self.broken:
            raise ConnectionError("the carrier does not answer")
        return f"parcel with {self.reserved[key]}"


bank = Bank()
store = Store({"book": 2, "lamp": 0})


def reserve(item: str) -> str:
    """Reserve an item. Return the id of the reservation."""
    key = current_task().step_id
    store.reserve(key, item)
    return key


def charge(price: int) -> str:
    """Charge the card. Return the id of the charge."""
    key = current_task().step_id
    bank.charge(key, price)
    return key


def ship(reservation: str) -> str:
    return store.ship(reservation)


@tasks.task(queue="orders", retry=Retry(attempts=3, backoff=0.0))
def order(item: str, price: int) -> str:
    """Reserve, charge, wait a day in which the customer may withdraw, and ship."""
    task = current_task()
    try:
        reservation: str = task.step("reserve", reserve, item)
    except OutOfStock as error:
        raise GiveUp(f"{error} is out of stock") from None
    charged: str = task.step("charge", charge, price)
    try:
        task.wait_for("withdraw", timeout=86_400.0)
    except TimeoutError:  # the customer wants it
        try:
            parcel: str = task.step("ship", ship, reservation)
        except ConnectionError as error:
            undo(reservation, charged)
            raise GiveUp(f"not shipped: {error}") from None
        return parcel
    undo(reservation, charged)
    return "withdrawn"


def undo(reservation: str, charged: str) -> None:
    """Refund and release, each once, whatever happens in between."""
    current_task().step("refund", bank.refund, charged)
    current_task().step("release", store.release, reservation)


def main(url: str) -> None:
    """Take four orders: one succeeds, and three end in other ways."""
    with Holdfast.from_url(url) if url else Holdfast.embedded() as hf:
        bench = TaskBench(hf)  # lets a day pass at once
        for label, item in (("shipped", "book"), ("no stock", "lamp")):
            handle = hf.enqueue(order.call(item, 30))
            bench.drain(tasks)
            bench.advance(tasks, 86_400.0)
            try:
                print(f"{label}: {handle.result(timeout=0)}")
            except TaskFailed as failed:
                print(f"{label}: {failed.reason}")
        withdrawn = hf.enqueue(order.call("book", 30))
        bench.drain(tasks)
        withdrawn.signal("withdraw")
        bench.drain(tasks)
        print(f"withdrawn: {withdrawn.result(timeout=0)}")
        store.broken = True
        stuck = hf.enqueue(order.call("book", 30))
        bench.drain(tasks)
        bench.advance(tasks, 86_400.0)
        print(f"carrier: {stuck.status().reason}")
    print(f"taken: {bank.taken}, in stock: {store.stock['book']}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
