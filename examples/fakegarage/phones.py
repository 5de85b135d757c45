"""A process full of phones.

    python -m fakegarage.phones

The first line of its standard input says which and where. It ends when that input does, however
the day ended, or when it is killed; started again, each phone goes on from what it has on disk.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast import AsyncHoldfast

from .day import Day, Span
from .journal import Journal
from .phone import Phone
from .radio import Radio


async def carry(day: Day, user: str, order: dict[str, Any]) -> None:
    """Carry the phone of *user* through the day without an end."""
    folder = Path(order["folder"])
    radio = Radio(folder / f"{user}.sock", order["server"])
    hf = AsyncHoldfast.from_url(f"unix://{folder / user}.sock", namespace=order["namespace"])
    with Journal(folder / f"{user}.jsonl") as journal:
        async with radio, hf, asyncio.TaskGroup() as tasks:
            phone = Phone(hf, user, journal)
            tasks.create_task(phone.read_chats())
            tasks.create_task(phone.read_mailbox())
            tasks.create_task(phone.write(day.acts[user], began_at=order["began_at"]))
            tasks.create_task(travel(radio, journal, day.tunnels[user], order["began_at"]))


async def travel(radio: Radio, journal: Journal, tunnels: Sequence[Span], began_at: float) -> None:
    """Go through the tunnels of the day that are still to come."""
    journal.note({"signal": True})
    for number, (enters_at, leaves_at) in enumerate(tunnels):
        if began_at + leaves_at <= time.time():
            continue
        await asyncio.sleep(began_at + enters_at - time.time())
        journal.note({"signal": False})
        await radio.lose(mute=number % 2 == 1)
        await asyncio.sleep(began_at + leaves_at - time.time())
        radio.find()
        journal.note({"signal": True})


async def main() -> None:
    """Carry all phones of the order until the input ends."""
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin
    )
    order = json.loads(await orders.readline())
    day = Day.make(seed=order["seed"], clients=order["clients"], seconds=order["seconds"])
    ended = asyncio.create_task(orders.read())
    phones = [asyncio.create_task(carry(day, user, order)) for user in order["users"]]
    done, _ = await asyncio.wait([ended, *phones], return_when=asyncio.FIRST_COMPLETED)
    for task in phones:
        task.cancel()
    await asyncio.wait(phones)
    for task in done:
        task.result()  # raises what a phone has died of


if __name__ == "__main__":
    asyncio.run(main())
