"""`ls` and `show` of every resource: one table of cases, in each topology."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import runner
from cli.filled_queue import HOSTILE, VISIBLE, Run, rows
from client.background_worker import working
from conftest import Site
from faults.waiting import eventually
from holdfast import Counted, Holdfast, Limit, LocalFiles, TaskRegistry

MANY_COLUMNS = 100
"""Characters of a name that is wider than a terminal."""


@dataclass(frozen=True)
class Case:
    """Describe one kind of thing.

    Attributes:
        group: the command.
        add: adds one thing of that name, and keeps it while the context lasts.
        titles: of the list, without the first.
        nothing: what the list says if there are none.
        key: of the name in JSON.
        fields: some of the JSON of a new thing.
        options: of `ls` and `show`.
        show: the arguments of `show`; None: there is no such command.
        noun: in the error for an unknown name.
    """

    group: str
    add: Callable[[Holdfast, Site, str], AbstractContextManager[object]]
    titles: str
    nothing: str
    key: str
    fields: dict[str, Any]
    options: tuple[str, ...] = ()
    show: Callable[[str], tuple[str, ...]] | None = lambda name: (name,)
    noun: str = ""


def then(add: Callable[[Holdfast, str], object]) -> Callable[..., AbstractContextManager[object]]:
    """Return a context that begins with *add*."""

    @contextmanager
    def added(hf: Holdfast, _: Site, name: str) -> Iterator[None]:
        add(hf, name)
        yield

    return added


def first_line(line: bytes) -> Counted | None:
    """Count only the first line of this file."""
    is_first = line.startswith(b'"""`ls` and')
    return Counted("2026-03-14", {"country": HOSTILE}) if is_first else None


@contextmanager
def held(hf: Holdfast, _: Site, name: str) -> Iterator[None]:
    with hf.lock(name).hold():
        eventually(hf.locks)
        yield


@contextmanager
def rw_held(hf: Holdfast, _: Site, name: str) -> Iterator[None]:
    with hf.rw_lock(name).read():
        eventually(hf.rw_locks)
        yield


@contextmanager
def permit_held(hf: Holdfast, _: Site, name: str) -> Iterator[None]:
    with hf.semaphore(name, limit=3).hold():
        eventually(hf.semaphores)
        yield


@contextmanager
def serving(_: Holdfast, site: Site, name: str) -> Iterator[None]:
    with working(site, TaskRegistry(), queues={name: 3}, concurrency=7):
        yield


CASES = {
    "queues": Case(
        "queues",
        then(lambda hf, name: hf.queue(name).pause()),
        "ready delayed running dead waiting workers capacity paused",
        "no queues",
        "queue",
        {"ready": 0, "dead": 0, "paused": True, "capacity": None},
        noun="queue",
    ),
    "workers": Case(
        "workers",
        serving,
        "busy queues group memory started last seen",
        "no workers",
        "worker",
        {"alive": True, "concurrency": 7, "running": 0},
        show=None,
    ),
    "locks": Case(
        "locks",
        held,
        "kind held waiters",
        "no locks or semaphores in use",
        "name",
        {"kind": "lock", "limit": 1, "holders": 1, "waiters": 0},
    ),
    "rw_locks": Case(
        "locks",
        rw_held,
        "kind held waiters",
        "no locks or semaphores in use",
        "name",
        {"kind": "rw_lock", "limit": None, "holders": 1, "waiters": 0},
        show=lambda name: (name, "--rw"),
    ),
    "semaphores": Case(
        "locks",
        permit_held,
        "kind held waiters",
        "no locks or semaphores in use",
        "name",
        {"kind": "semaphore", "limit": 3, "holders": 1, "waiters": 0},
        show=lambda name: (name, "--semaphore"),
    ),
    "chats": Case(
        "chat",
        then(lambda hf, name: hf.create_chat([name], sender=name, body=HOSTILE, chat_id=name)),
        "members messages memory newest",
        "no chats",
        "chat",
        {"members": 1, "messages": 1, "keep": 1000, "first_seq": 1, "last_seq": 1},
        noun="chat",
    ),
    "mailboxes": Case(
        "chat",
        then(lambda hf, name: hf.mailbox(name, capacity=20).send(HOSTILE, sender=HOSTILE)),
        "unread capacity oldest last read",
        "no mailboxes",
        "mailbox",
        {"unread": 1, "capacity": 20, "overflow": "reject", "last_seen_at": None},
        options=("--mailbox",),
        noun="mailbox",
    ),
    "counters": Case(
        "counters",
        then(lambda hf, name: hf.counter(name).add(1204)),
        "last minute last hour last day",
        "no counters",
        "counter",
        {"last_minute": 1204, "last_hour": 1204, "last_day": 1204},
        noun="counter",
    ),
    "rate limiters": Case(
        "limits",
        then(lambda hf, name: hf.rate_limit(name, Limit(9, per=3600.0)).try_acquire(4)),
        "limits used waiting",
        "no rate limiters",
        "limiter",
        {"allowed": True},
        noun="rate limiter",
    ),
    "row caches": Case(
        "rows",
        then(lambda hf, name: hf.row_cache(name).schedule("42", every=3600.0)),
        "scheduled due failing lag source",
        "no row caches",
        "cache",
        {"scheduled": 1, "failing": 0},
        noun="row cache",
    ),
    "tallies": Case(
        "tallies",
        then(lambda hf, name: hf.tally(name).aggregate(LocalFiles(Path(__file__)), key=first_line)),
        "days lines last day",
        "no tallies",
        "tally",
        {"lines": 1, "days": {"2026-03-14": 1}},
        noun="tally",
    ),
    "completions": Case(
        "completions",
        then(lambda hf, name: hf.completions(name).add_many(["jill", "jack"])),
        "names",
        "no completions",
        "completions",
        {"names": 2},
        noun="completions",
    ),
    "feeds": Case(
        "logs",
        then(
            lambda hf, name: hf.file_feed(name, consumers=[HOSTILE]).publish(
                io.BytesIO(b"line\n"), name=HOSTILE
            )
        ),
        "state files to be read failed memory slowest",
        "no feeds",
        "name",
        {"state": "open", "files": 1, "left": 1, "holders": [HOSTILE]},
        show=lambda name: ("--feed", name),
        noun="feed",
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    """Return one kind after the other."""
    return CASES[request.param]


def test_there_are_none(case: Case, site: Site) -> None:
    """Print a sentence for people and no line for scripts; this is no error."""
    run = runner(site)
    empty = run(case.group, "ls", *case.options)
    assert (empty.exit_code, empty.output) == (0, f"{case.nothing} in namespace {site.namespace}\n")
    assert run(case.group, "ls", *case.options, "--json").output == ""


def test_one_is_listed_and_shown(case: Case, site: Site) -> None:
    """Escape its name for people; print it unchanged for scripts."""
    run = runner(site)
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf, case.add(hf, site, HOSTILE):
        listed = run(case.group, "ls", *case.options)
        found = rows(run(case.group, "ls", *case.options, "--json"))
        if not case.options and case.group != "logs":
            assert run(case.group).stdout.split()[:3] == listed.stdout.split()[:3]
            assert len(rows(run(case.group, "--json"))) == 1
        if case.show:
            shown = run(case.group, "show", *case.show(HOSTILE), *case.options)
            [state] = rows(run(case.group, "show", *case.show(HOSTILE), *case.options, "--json"))
            assert (shown.exit_code, VISIBLE in shown.stdout) == (0, True), shown.output
            assert shown.stdout.replace("\n", "").isprintable()
            assert state[case.key] == HOSTILE
    assert listed.exit_code == 0, listed.output
    title, line = listed.stdout.splitlines()
    assert title.split() == [case.key, *case.titles.split()]
    assert VISIBLE in line
    assert line.isprintable()
    [row] = found
    assert row.items() >= case.fields.items()
    if case.show:
        assert row[case.key] == HOSTILE


def test_eighty_columns_are_enough(case: Case, site: Site) -> None:
    """Fold long names on a terminal, and keep them whole in a pipe."""
    name, narrow = "n" * MANY_COLUMNS, runner(site, COLUMNS="80")
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf, case.add(hf, site, name):
        commands = [(case.group, "ls", *case.options)]
        if case.show:
            commands.append((case.group, "show", *case.show(name), *case.options))
        for command in commands:
            folded, whole = narrow(*command), runner(site)(*command)
            assert folded.exit_code == whole.exit_code == 0, folded.output
            assert max(map(len, folded.stdout.splitlines())) <= 80
            assert name in whole.stdout


@pytest.mark.parametrize("case", [name for name in CASES if CASES[name].show], indirect=True)
def test_an_unknown_name_is_not_found(case: Case, site: Site) -> None:
    """Offer similar names; refuse an impossible name as wrong usage."""
    assert case.show is not None
    run = runner(site)
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf, case.add(hf, site, "jack451"):
        missing = run(case.group, "show", *case.show("jack45"), *case.options)
        assert missing.exit_code == 3, missing.output
        assert "; did you mean 'jack451'?" in missing.stderr
        if case.noun:
            assert f"there is no {case.noun} 'jack45' in namespace" in missing.stderr
            assert missing.stdout == ""
    assert run(case.group, "show", *case.show("x" * 600), *case.options).exit_code == 2


@pytest.mark.parametrize(
    "group", ["queues", "workers", "locks", "chat", "counters", "rows", "tallies"]
)
def test_options_before_a_command_are_not_dropped(run: Run, group: str) -> None:
    """Refuse them: they belong to the list, a command has its own."""
    result = run(group, "--namespace", "other", "ls")
    assert (result.exit_code, "options come after the command" in result.stderr) == (2, True)


def test_all_kinds_of_one_name_are_listed_together(site: Site) -> None:
    """List locks, reader-writer locks and semaphores together, by name and kind."""
    with ExitStack() as stack:
        hf = stack.enter_context(Holdfast.from_url(site.url, namespace=site.namespace))
        for add in (permit_held, rw_held, held):
            stack.enter_context(add(hf, site, "api"))
        kinds = [row["kind"] for row in rows(runner(site)("locks", "--json"))]
        assert kinds == ["lock", "rw_lock", "semaphore"]
