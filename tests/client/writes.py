"""Every write that takes an `op_id`, and how to see whether it was applied once."""

from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast import Holdfast, NoSuchChat, Retry, TaskRegistry

ANY = ...
"""An answer that is not compared."""

tasks = TaskRegistry()


@tasks.task(queue="work", retry=Retry(attempts=1))
def work(n: int) -> None:
    if n:
        raise ValueError(n)


class Write(NamedTuple):
    """One write.

    Attributes:
        script: block and name of the script that applies it.
        do: the write, with a client of either half.
        look: reads what it changes.
        states: what `look` returns before and after it is applied, and after `undo`.
        answer: what it returns, also when it is repeated.
        prepare: creates what has to exist.
        undo: what another client changes afterwards; a repeated write must not change it back.
    """

    script: str
    do: Callable[..., Any]
    look: Callable[[Holdfast], Any]
    states: tuple[Any, ...]
    answer: Any = None
    prepare: Callable[[Holdfast], Any] | None = None
    undo: Callable[[Holdfast], Any] | None = None


def queue(hf: Any) -> Any:
    return hf.queue("work")


def counted(state: str) -> Callable[[Holdfast], Any]:
    return lambda hf: getattr(queue(hf).stats(), state)


def run_all(hf: Holdfast) -> None:
    hf.worker(tasks, queues={"work": 1}).run(until_idle=True)


def three_dead(hf: Holdfast) -> None:
    hf.enqueue_many([work.call(n) for n in (1, 2, 3)])
    run_all(hf)


def sale(hf: Holdfast) -> Any:
    return hf.enqueue(work.call(0).options(task_id="sale"))


def box(hf: Any) -> Any:
    return hf.mailbox("jack")


def received(hf: Holdfast) -> list[Any]:
    return [each.body for each in box(hf).latest()]


def talk(hf: Any) -> Any:
    return hf.create_chat(["ann", "ben"], sender="ann", body="x", chat_id="talk")


def create(hf: Any, **op: str) -> Any:
    return hf.create_chat(["p", "q"], sender="p", body="new", chat_id="new", **op)


def chat(hf: Holdfast, name: str = "talk") -> Any:
    """Return members and messages of a chat; None if there is no chat."""
    try:
        found = hf.chat(name)
        return dict(found.members()), [each.body for each in found.history()]
    except NoSuchChat:
        return None


def guild(hf: Any) -> Any:
    return hf.completions("guild")


def recent(hf: Any) -> Any:
    return hf.recent("ann")


def hits(hf: Any) -> Any:
    return hf.counter("hits")


def sums(hf: Holdfast) -> set[int]:
    """Return the sums of all precisions: each must count the same."""
    precisions = (1, 5, 60, 300, 3600, 18_000, 86_400)
    return {sum(sample.value for sample in hits(hf).samples(each)) for each in precisions}


def semaphore(hf: Any) -> Any:
    return hf.semaphore("s")


def stock(hf: Any) -> Any:
    return hf.fenced("stock")


WRITES = {
    "enqueue": Write(
        "queues/enqueue_plain",
        lambda hf, **op: hf.enqueue(work.call(0), **op),
        *(counted("ready"), (0, 1, 0), ANY, None, run_all),
    ),
    "enqueue many": Write(
        "queues/enqueue_plain",
        lambda hf, **op: hf.enqueue_many([work.call(0), work.call(0)], **op),
        *(counted("ready"), (0, 2, 0), ANY, None, run_all),
    ),
    "replay": Write(
        "queues/replay",
        lambda hf, **op: queue(hf).replay(**op),
        lambda hf: (counted("ready")(hf), counted("dead")(hf)),
        *(((0, 3), (3, 0), (0, 0)), 3, three_dead, lambda hf: queue(hf).purge()),
    ),
    "cancel": Write(
        "queues/cancel",
        lambda hf, **op: queue(hf).handle("sale").cancel(**op),
        lambda hf: queue(hf).handle("sale").status().state,
        *(("queued", "cancelled", "queued"), True, sale, sale),
    ),
    "pause": Write(
        "queues/pause",
        lambda hf, **op: queue(hf).pause(**op),
        *(counted("paused"), (False, True, False), None, None, lambda hf: queue(hf).resume()),
    ),
    "resume": Write(
        "queues/pause",
        lambda hf, **op: queue(hf).resume(**op),
        *(counted("paused"), (True, False, True), None),
        *(lambda hf: queue(hf).pause(), lambda hf: queue(hf).pause()),
    ),
    "capacity": Write(
        "queues/redefine",
        lambda hf, **op: queue(hf).redefine(capacity=5, **op),
        *(counted("capacity"), (7, 5, None), None),
        *(lambda hf: queue(hf).redefine(capacity=7), lambda hf: queue(hf).redefine(capacity=None)),
    ),
    "no capacity": Write(
        "queues/redefine",
        lambda hf, **op: queue(hf).redefine(capacity=None, **op),
        *(counted("capacity"), (7, None, 9), None),
        *(lambda hf: queue(hf).redefine(capacity=7), lambda hf: queue(hf).redefine(capacity=9)),
    ),
    "purge": Write(
        "queues/purge",
        lambda hf, **op: queue(hf).purge(**op),
        *(counted("ready"), (1, 0, 1), 1, sale, sale),
    ),
    "purge dead": Write(
        "queues/purge",
        lambda hf, **op: queue(hf).purge(dead=True, **op),
        *(counted("dead"), (3, 0, 3), 3, three_dead, three_dead),
    ),
    "send": Write(
        "messages/deliver",
        lambda hf, **op: box(hf).send("y", sender="z", **op),
        *(received, (["x"], ["x", "y"], ["x", "y", "z"]), 2),
        *(lambda hf: box(hf).send("x", sender="a"), lambda hf: box(hf).send("z", sender="a")),
    ),
    "mailbox": Write(
        "messages/redefine",
        lambda hf, **op: box(hf).redefine(capacity=3, **op),
        *(lambda hf: box(hf).status().capacity, (9, 3, 8), None),
        *(lambda hf: box(hf).redefine(capacity=9), lambda hf: box(hf).redefine(capacity=8)),
    ),
    "create": Write(
        "messages/create",
        create,
        *(lambda hf: chat(hf, "new"), (None, ({"p": 1, "q": 0}, ["new"])), ANY),
    ),
    "post": Write(
        "messages/send",
        lambda hf, **op: hf.chat("talk").send("y", sender="ann", **op),
        *(lambda hf: chat(hf)[1], (["x"], ["x", "y"], ["x", "y", "z"]), 2),
        *(talk, lambda hf: hf.chat("talk").send("z", sender="ben")),
    ),
    "join": Write(
        "messages/join",
        lambda hf, **op: hf.chat("talk").join("cem", start="floor", **op),
        lambda hf: chat(hf)[0],
        ({"ann": 1, "ben": 0}, {"ann": 1, "ben": 0, "cem": 0}, {"ann": 1, "ben": 0}),
        *(True, talk, lambda hf: hf.chat("talk").leave("cem")),
    ),
    "leave": Write(
        "messages/leave",
        lambda hf, **op: hf.chat("talk").leave("ben", **op),
        lambda hf: chat(hf)[0],
        ({"ann": 1, "ben": 0}, {"ann": 1}, {"ann": 1, "ben": 0}),
        *(True, talk, lambda hf: hf.chat("talk").join("ben", start="floor")),
    ),
    "add a name": Write(
        "completions/add",
        lambda hf, **op: guild(hf).add("jeff", **op),
        *(lambda hf: guild(hf).has("jeff"), (False, True, False), True),
        *(None, lambda hf: guild(hf).remove("jeff")),
    ),
    "remove a name": Write(
        "completions/remove",
        lambda hf, **op: guild(hf).remove("jeff", **op),
        *(lambda hf: guild(hf).has("jeff"), (True, False, True), 1),
        *(lambda hf: guild(hf).add("jeff"), lambda hf: guild(hf).add("jeff")),
    ),
    "touch": Write(
        "completions/touch",
        lambda hf, **op: recent(hf).touch("jill", **op),
        *(lambda hf: recent(hf).all(), ([], ["jill"], ["jack", "jill"]), None),
        *(None, lambda hf: recent(hf).touch("jack")),
    ),
    "forget": Write(
        "completions/drop",
        lambda hf, **op: recent(hf).remove("jill", **op),
        *(lambda hf: recent(hf).all(), (["jill"], [], ["jill"]), True),
        *(lambda hf: recent(hf).touch("jill"), lambda hf: recent(hf).touch("jill")),
    ),
    "count": Write(
        "counters/add",
        lambda hf, **op: hits(hf).add(10, **op),
        *(sums, ({1}, {11}, {12}), None, lambda hf: hits(hf).add(), lambda hf: hits(hf).add()),
    ),
    "limit": Write(
        "locks/redefine",
        lambda hf, **op: semaphore(hf).redefine(limit=7, **op),
        *(lambda hf: semaphore(hf).inspect().limit, (2, 7, 3), None),
        *(lambda hf: semaphore(hf).redefine(limit=2), lambda hf: semaphore(hf).redefine(limit=3)),
    ),
    "fenced": Write(
        "locks/set",
        lambda hf, **op: stock(hf).set("mine", 10, **op),
        *(lambda hf: stock(hf).get(), (None, "mine", "later"), None),
        *(None, lambda hf: stock(hf).set("later", 11)),
    ),
}
"""Plans of rows are not here: made twice they are the same."""
