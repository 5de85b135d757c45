"""Tasks of both halves, for one queue with partitions."""

from holdfast import PerKey, TaskRegistry, Unique

QUEUE = "spread"

tasks = TaskRegistry()
ran: list[object] = []


@tasks.task(queue=QUEUE)
def plain(number: int) -> int:
    ran.append(number)
    return 2 * number


@tasks.task(queue=QUEUE, unique=Unique(key="user"))
def unique(user: int) -> None:
    ran.append(("unique", user))


@tasks.task(queue=QUEUE, limit=PerKey("user", concurrency=1))
def limited(user: int, number: int) -> None:
    ran.append((user, number))


@tasks.task(queue=QUEUE, unique=Unique(key="sale"), limit=PerKey("user", concurrency=1))
def two_keys(user: int, sale: int) -> None:
    ran.append((user, sale))


@tasks.task(queue=QUEUE, unique=Unique(key=("sale", "user")), limit=PerKey("user", concurrency=1))
def one_within_the_other(user: int, sale: int) -> None:
    ran.append((user, sale))
