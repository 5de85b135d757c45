"""Tasks for tests of groups."""

from typing import Any

from holdfast import GiveUp, Retry, TaskRegistry

tasks = TaskRegistry()

calls: list[tuple[str, Any]] = []
"""What ran in this process: the name of the task, and its argument."""

broken: set[int] = set()
"""Numbers with which `double` fails."""

QUEUE, OTHER = "parts", "reports"


@tasks.task(queue=QUEUE, result_ttl=0)
def double(n: int) -> int:
    calls.append(("double", n))
    if n in broken:
        raise GiveUp(f"{n} is broken")
    return 2 * n


@tasks.task(queue=QUEUE, retry=Retry(attempts=1))
def add(a: int, b: int) -> int:
    calls.append(("add", (a, b)))
    return a + b


@tasks.task(queue=OTHER)
def report(results: Any) -> Any:
    calls.append(("report", results))
    return results


@tasks.task(queue=OTHER)
def alarm(group_id: str) -> None:
    calls.append(("alarm", group_id))


@tasks.task(queue=OTHER)
def note(text: str = "") -> str:
    calls.append(("note", text))
    return text


def of(name: str) -> list[Any]:
    """Return the arguments with which a task ran."""
    return [argument for task, argument in calls if task == name]
