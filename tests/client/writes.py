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
        answer: what it returns, also when it is repeated.
        look: reads what it changes.
        before: what `look` returns before it is applied.
        after: what `look` returns after it is applied.
        prepare: what has to exist.
        undo: what another client changes afterwards; a repeated write must not change it back.
        undone: what `look` returns after `undo`.
    """

    script: str
    do: Callable[..., Any]
    answer: Any
    look: Callable[[Holdfast], Any]
    before: Any
    after: Any
    prepare: Callable[[Holdfast], Any] = lambda hf: None
    undo: Callable[[Holdfast], Any] | None = None
    undone: Any = None


def run_all(hf: Holdfast) -> None:
    hf.worker(tasks, queues={"work": 1}).run(until_idle=True)


def three_dead(hf: Holdfast) -> None:
    hf.enqueue_many([work.call(n) for n in (1, 2, 3)])
    run_all(hf)


def counted(state: str) -> Callable[[Holdfast], Any]:
    return lambda hf: getattr(hf.queue("work").stats(), state)


def sale(hf: Holdfast) -> Any:
    return hf.enqueue(work.call(0).options(task_id="sale"))


def talk(hf: Holdfast) -> Any:
    return hf.create_chat(["ann", "ben"], sender="ann", body="x", chat_id="talk")


def said(hf: Holdfast) -> list[Any]:
    return [each.body for each in hf.chat("talk").history()]


def members(hf: Holdfast) -> dict[str, int]:
    return dict(hf.chat("talk").members())


def created(hf: Holdfast) -> Any:
    try:
        chat = hf.chat("new")
        return dict(chat.members()), [each.body for each in chat.history()]
    except NoSuchChat:
        return None


def received(hf: Holdfast) -> list[Any]:
    return [each.body for each in hf.mailbox("jack").latest()]


def sums(hf: Holdfast) -> list[int]:
    """Return the sums of all precisions: each must count the same."""
    precisions = (1, 5, 60, 300, 3600, 18_000, 86_400)
    counter = hf.counter("hits")
    return [sum(sample.value for sample in counter.samples(each)) for each in precisions]


WRITES = {
    "enqueue": Write(
        "queues/enqueue",
        lambda hf, **op: hf.enqueue(work.call(0), **op),
        ANY,
        counted("ready"),
        0,
        1,
        undo=run_all,
        undone=0,
    ),
    "enqueue many": Write(
        "queues/enqueue",
        lambda hf, **op: hf.enqueue_many([work.call(0), work.call(0)], **op),
        ANY,
        counted("ready"),
        0,
        2,
        undo=run_all,
        undone=0,
    ),
    "replay": Write(
        "queues/replay",
        lambda hf, **op: hf.queue("work").replay(**op),
        3,
        lambda hf: (counted("ready")(hf), counted("dead")(hf)),
        (0, 3),
        (3, 0),
        three_dead,
        lambda hf: hf.queue("work").purge(),
        (0, 0),
    ),
    "cancel": Write(
        "queues/cancel",
        lambda hf, **op: hf.queue("work").handle("sale").cancel(**op),
        True,
        lambda hf: hf.queue("work").handle("sale").status().state,
        "queued",
        "cancelled",
        sale,
        sale,
        "queued",
    ),
    "pause": Write(
        "queues/pause",
        lambda hf, **op: hf.queue("work").pause(**op),
        None,
        counted("paused"),
        False,
        True,
        undo=lambda hf: hf.queue("work").resume(),
        undone=False,
    ),
    "resume": Write(
        "queues/pause",
        lambda hf, **op: hf.queue("work").resume(**op),
        None,
        counted("paused"),
        True,
        False,
        lambda hf: hf.queue("work").pause(),
        lambda hf: hf.queue("work").pause(),
        True,
    ),
    **{
        f"capacity {capacity}": Write(
            "queues/redefine",
            lambda hf, capacity=capacity, **op: hf.queue("work").redefine(capacity=capacity, **op),
            None,
            counted("capacity"),
            7,
            capacity,
            lambda hf: hf.queue("work").redefine(capacity=7),
            lambda hf: hf.queue("work").redefine(capacity=9),
            9,
        )
        for capacity in (5, None)
    },
    "purge": Write(
        "queues/purge",
        lambda hf, **op: hf.queue("work").purge(**op),
        1,
        counted("ready"),
        1,
        0,
        sale,
        sale,
        1,
    ),
    "purge dead": Write(
        "queues/purge",
        lambda hf, **op: hf.queue("work").purge(dead=True, **op),
        3,
        counted("dead"),
        3,
        0,
        three_dead,
        three_dead,
        3,
    ),
    "send": Write(
        "messages/deliver",
        lambda hf, **op: hf.mailbox("jack").send("again", sender="z", **op),
        2,
        received,
        ["x"],
        ["x", "again"],
        lambda hf: hf.mailbox("jack").send("x", sender="a"),
        lambda hf: hf.mailbox("jack").send("more", sender="a"),
        ["x", "again", "more"],
    ),
    "mailbox": Write(
        "messages/redefine",
        lambda hf, **op: hf.mailbox("jack").redefine(capacity=3, **op),
        None,
        lambda hf: hf.mailbox("jack").status().capacity,
        9,
        3,
        lambda hf: hf.mailbox("jack").redefine(capacity=9),
        lambda hf: hf.mailbox("jack").redefine(capacity=8),
        8,
    ),
    "create": Write(
        "messages/create",
        lambda hf, **op: hf.create_chat(["p", "q"], sender="p", body="new", chat_id="new", **op),
        ANY,
        created,
        None,
        ({"p": 1, "q": 0}, ["new"]),
    ),
    "post": Write(
        "messages/send",
        lambda hf, **op: hf.chat("talk").send("again", sender="ann", **op),
        2,
        said,
        ["x"],
        ["x", "again"],
        talk,
        lambda hf: hf.chat("talk").send("more", sender="ben"),
        ["x", "again", "more"],
    ),
    "join": Write(
        "messages/join",
        lambda hf, **op: hf.chat("talk").join("cem", start="floor", **op),
        True,
        members,
        {"ann": 1, "ben": 0},
        {"ann": 1, "ben": 0, "cem": 0},
        talk,
        lambda hf: hf.chat("talk").leave("cem"),
        {"ann": 1, "ben": 0},
    ),
    "leave": Write(
        "messages/leave",
        lambda hf, **op: hf.chat("talk").leave("ben", **op),
        True,
        members,
        {"ann": 1, "ben": 0},
        {"ann": 1},
        talk,
        lambda hf: hf.chat("talk").join("ben", start="floor"),
        {"ann": 1, "ben": 0},
    ),
    "add a name": Write(
        "completions/add",
        lambda hf, **op: hf.completions("guild").add("jeff", **op),
        True,
        lambda hf: hf.completions("guild").has("jeff"),
        False,
        True,
        undo=lambda hf: hf.completions("guild").remove("jeff"),
        undone=False,
    ),
    "remove a name": Write(
        "completions/remove",
        lambda hf, **op: hf.completions("guild").remove("jeff", **op),
        1,
        lambda hf: hf.completions("guild").has("jeff"),
        True,
        False,
        lambda hf: hf.completions("guild").add("jeff"),
        lambda hf: hf.completions("guild").add("jeff"),
        True,
    ),
    "touch": Write(
        "completions/touch",
        lambda hf, **op: hf.recent("ann").touch("jill", **op),
        None,
        lambda hf: hf.recent("ann").all(),
        [],
        ["jill"],
        undo=lambda hf: hf.recent("ann").touch("jack"),
        undone=["jack", "jill"],
    ),
    "forget": Write(
        "completions/drop",
        lambda hf, **op: hf.recent("ann").remove("jill", **op),
        True,
        lambda hf: hf.recent("ann").all(),
        ["jill"],
        [],
        lambda hf: hf.recent("ann").touch("jill"),
        lambda hf: hf.recent("ann").touch("jill"),
        ["jill"],
    ),
    "count": Write(
        "counters/add",
        lambda hf, **op: hf.counter("hits").add(10, **op),
        None,
        sums,
        [1] * 7,
        [11] * 7,
        lambda hf: hf.counter("hits").add(),
        lambda hf: hf.counter("hits").add(),
        [12] * 7,
    ),
    "limit": Write(
        "locks/redefine",
        lambda hf, **op: hf.semaphore("s").redefine(limit=7, **op),
        None,
        lambda hf: hf.semaphore("s").inspect().limit,
        2,
        7,
        lambda hf: hf.semaphore("s").redefine(limit=2),
        lambda hf: hf.semaphore("s").redefine(limit=3),
        3,
    ),
    "fenced": Write(
        "locks/set",
        lambda hf, **op: hf.fenced("stock").set("mine", 10, **op),
        None,
        lambda hf: hf.fenced("stock").get(),
        None,
        "mine",
        undo=lambda hf: hf.fenced("stock").set("later", 11),
        undone="later",
    ),
}
"""Plans of rows are not here: made twice they are the same."""
