"""Tasks that outboxes hold in tests."""

from holdfast import TaskRegistry, Unique

tasks = TaskRegistry()


@tasks.task(queue="email")
def receipt(order: int) -> int:
    return order


@tasks.task(queue="reports")
def report(order: int) -> int:
    return order


@tasks.task(queue="email", unique=Unique(key="user", when="raise"))
def welcome(user: str) -> None: ...
