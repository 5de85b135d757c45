"""Unique tasks of both halves, for one queue."""

from holdfast import GiveUp, Retry, Snooze, TaskRegistry, Unique, current_task

QUEUE = "unique"

tasks = TaskRegistry()
ran: list[object] = []


@tasks.task(queue=QUEUE, unique=Unique(key="user"))
def until_end(user: int, text: str = "") -> str:
    ran.append((user, text))
    return text


@tasks.task(queue=QUEUE, unique=Unique(key="user", until="start"))
def until_start(user: int, text: str = "") -> None:
    ran.append((user, text))


@tasks.task(queue=QUEUE, unique=Unique(key="user", until=600.0))
def for_long(user: int, text: str = "") -> str:
    ran.append((user, text))
    return text


@tasks.task(queue=QUEUE, unique=Unique(key="user", when="replace"))
def replaced(user: int, text: str = "") -> None:
    ran.append((user, text))


@tasks.task(queue=QUEUE, unique=Unique(key="user", when="postpone", at_most=1000.0))
def postponed(user: int, text: str = "") -> None:
    ran.append((user, text))


@tasks.task(queue=QUEUE, unique=Unique(key="user", when="raise"))
def refused(user: int, text: str = "") -> None:
    ran.append((user, text))


@tasks.task(queue=QUEUE, retry=Retry(attempts=2, delays=[900.0]), unique=Unique(key="user"))
def ends_as_requested(user: int, how: str) -> None:
    """End as the argument says."""
    ran.append((user, how))
    match how:
        case "fail":
            raise ValueError(how)
        case "give up":
            raise GiveUp(how)
        case "snooze" if current_task().snoozes == 0:
            raise Snooze(900.0)


@tasks.task(queue=QUEUE, unique=Unique())
def by_all_arguments(a: int, b: str = "b", *rest: int, **more: object) -> None: ...


@tasks.task(queue=QUEUE, unique=Unique(key=()))
def one_at_all(a: int) -> None: ...


@tasks.task(queue=QUEUE, unique=Unique(key=lambda a, b="b": [a % 10, b]))
def by_function(a: int, b: str = "b") -> None: ...
