"""The checks of `holdfast demo`: each finds out evidence that is broken, and none that is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast import Holdfast, LocalFiles
from holdfast.cli.demo.chat.part import sent_once
from holdfast.cli.demo.downloads.part import not_too_many
from holdfast.cli.demo.examples import example_file, load_example
from holdfast.cli.demo.logs.part import digests_of, unlike
from holdfast.cli.demo.logs.report import differences
from holdfast.cli.demo.mail.events import Event
from holdfast.cli.demo.mail.order import Order
from holdfast.cli.demo.mail.report import Check, Punctuality, check, punctuality
from holdfast.cli.demo.mail.smtp import Delivery
from holdfast.cli.demo.mail.verdicts import (
    dead_with_a_reason,
    in_order,
    not_before_its_time,
    not_too_often,
    once_at_least,
)
from holdfast.cli.demo.market.audit import Holdings, problems
from holdfast.cli.demo.market.figures import Tally
from holdfast.cli.demo.market.part import fences_rise
from holdfast.cli.demo.sale.part import Probe, balanced, differing, never_older
from holdfast.cli.demo.traffic.check import misdelivered, misfound, missed
from holdfast.cli.demo.world.part import Verdict

SALE = Event("sale", "sale-1", {}, delay_s=5.0)


def delivery(started_at: float) -> Delivery:
    return Delivery("sale-1@fakegame.example", 1, 1, 100.0, started_at, started_at + 1)


def account(*ids: str) -> SimpleNamespace:
    got = {seq: SimpleNamespace(id=each) for seq, each in enumerate(ids, 1)}
    return SimpleNamespace(user="jill", got={"lunch": got}, unsure=1, done={"jill/1": 1})


def as_verdict(found: Iterator[str]) -> Verdict:
    return Verdict("block", "promise", 1, "things", tuple(found))


def traded(offers: dict[str, str], gold: int) -> Verdict:
    held = Holdings({"buyer": gold}, {"buyer": frozenset({"egg"})}, offers)
    tally = Tally(bought=1)
    items = {"egg", "sword"}
    return as_verdict(problems(held, tally, gold=100, items=items, buyers=["buyer"]))


CHECKS: dict[str, tuple[Callable[[], Verdict], Callable[[], Verdict], str]] = {
    "a mail is missing": (
        lambda: once_at_least(check([SALE], Counter([SALE.mail_id])), 1),
        lambda: once_at_least(check([SALE], Counter()), 1),
        "there is no mail of sale-1",
    ),
    "a garbled task is not dead": (
        lambda: dead_with_a_reason([SALE], {"sale-1": "bad-arguments"}),
        lambda: dead_with_a_reason([SALE], {}),
        "sale-1 is not among the dead",
    ),
    "a task is dead for no reason": (
        lambda: dead_with_a_reason([SALE], {"sale-1": "bad-arguments"}),
        lambda: dead_with_a_reason([SALE], {"sale-1": ""}),
        "sale-1 is dead without a reason",
    ),
    "a task is dead that could run": (
        lambda: dead_with_a_reason([SALE], {"sale-1": "bad-arguments"}),
        lambda: dead_with_a_reason([SALE], {"sale-1": "bad-arguments", "sold-1": "lost"}),
        "sold-1 is dead: lost",
    ),
    "too many mails came twice": (
        lambda: not_too_often(Check([], ["a"] * 64), 1),
        lambda: not_too_often(Check([], ["a"] * 65), 1),
        "65 mails came twice, after 1 kill",
    ),
    "a mail is early": (
        lambda: not_before_its_time(punctuality([SALE], [delivery(105.0)])),
        lambda: not_before_its_time(punctuality([SALE], [delivery(104.9)])),
        "sale-1 was begun before its time",
    ),
    "nothing was delayed": (
        lambda: not_before_its_time(Punctuality(1, [])),
        lambda: not_before_its_time(Punctuality(0, [])),
        "",
    ),
    "a better one waited": (
        lambda: in_order(Order(judged=True, claims=9)),
        lambda: in_order(Order(judged=True, claims=9, passed_over=["expired-1"])),
        "expired-1 was claimed while a better one waited",
    ),
    "one in front waited": (
        lambda: in_order(Order(judged=True, claims=9)),
        lambda: in_order(Order(judged=True, claims=9, out_of_turn=["sold-1"])),
        "sold-1 was claimed before one in front of it",
    ),
    "the order was not judged": (
        lambda: in_order(Order(judged=True, claims=9)),
        lambda: in_order(Order()),
        "",
    ),
    "a fence is the same again": (
        lambda: fences_rise([{"item:1": 5}, {"item:2": 5}, {"item:1": 6}]),
        lambda: fences_rise([{"item:1": 5}, {"item:2": 5}, {"item:1": 5}]),
        "the lock 'item:1' had fence 5 after 5",
    ),
    "gold vanished": (
        lambda: traded({"sword": "9 seller"}, 100),
        lambda: traded({"sword": "9 seller"}, 99),
        "there were 100 gold, now there are 99",
    ),
    "an item is there twice": (
        lambda: traded({"sword": "9 seller"}, 100),
        lambda: traded({"sword": "9 seller", "egg": "9 seller"}, 100),
        "1 items are there twice: egg",
    ),
    "too many at once": (
        lambda: not_too_many(9, 3, 3),
        lambda: not_too_many(9, 4, 3),
        "there were 4 downloads at once",
    ),
    "a message is there twice": (
        lambda: sent_once({"jill": account("jack/1", "jack/2")}),
        lambda: sent_once({"jill": account("jack/1", "jack/1")}),
        "jill has jack/1 of lunch more than once",
    ),
    "a hit is missing": (
        lambda: as_verdict(missed({"/": 7}, {("/", 1): 7, ("/", 60): 7})),
        lambda: as_verdict(missed({"/": 7}, {("/", 1): 7, ("/", 60): 6})),
        "/ had 7 hits; in samples of 60 s are 6",
    ),
    "a name is not found": (
        lambda: as_verdict(misfound({"Anna Smith"}, {"sm": ["Anna Smith"], "b": []})),
        lambda: as_verdict(misfound({"Anna Smith"}, {"sm": [], "b": []})),
        "a search for 'sm' finds others",
    ),
    "a name is found twice": (
        lambda: as_verdict(misfound({"Anna Smith"}, {"a": ["Anna Smith"]})),
        lambda: as_verdict(misfound({"Anna Smith"}, {"a": ["Anna Smith", "Anna Smith"]})),
        "a search for 'a' finds others",
    ),
    "a mail came twice": (
        lambda: as_verdict(misdelivered({"Anna": 1}, {"Anna": 1, "Ben": 0})),
        lambda: as_verdict(misdelivered({"Anna": 1}, {"Anna": 2, "Ben": 0})),
        "Anna was written 1 times, and has 2 mails",
    ),
    "a row is old": (
        lambda: as_verdict(differing({1: 5}, {1: 5})),
        lambda: as_verdict(differing({1: 5}, {1: 6})),
        "the cache shows 6 of item 1, the database has 5",
    ),
    "a row is not there": (
        lambda: as_verdict(differing({1: 5}, {1: 5})),
        lambda: as_verdict(differing({1: 5}, {})),
        "the cache shows None of item 1",
    ),
    "a row was read before it was invalidated": (
        lambda: never_older([Probe(1, 5, 4), Probe(2, 5, 5)]),
        lambda: never_older([Probe(1, 5, 4), Probe(2, 5, 6)]),
        "item 2 was invalidated when 5 were left, and showed 6",
    ),
    "something was sold twice": (
        lambda: balanced(100, 90, 10, []),
        lambda: balanced(100, 90, 11, []),
        "11 were sold and 90 are left of 100",
    ),
}


@pytest.mark.parametrize("what", CHECKS)
def test_what_is_broken_is_found_out(what: str) -> None:
    """And what is not, is not complained about."""
    sound, broken, told = CHECKS[what]
    assert sound().kept, sound().problems
    assert not broken().kept
    assert told in " ".join(broken().problems)


def test_nothing_is_proven_by_nothing() -> None:
    """A check that looked at nothing has not seen that a promise is kept."""
    assert Verdict("locks", "fences only rise", 1, "fences").kept
    assert not Verdict("locks", "fences only rise", 0, "fences").kept


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda log: log.write_bytes(b"two\none\n"), "has other bytes in a.log"),
        (lambda log: log.unlink(), "has no a.log"),
        (lambda log: log.with_name("b.log").touch(), "has b.log, which nobody published"),
    ],
    ids=["order", "missing", "more"],
)
def test_bytes_that_are_not_as_published(
    spoil: Callable[[Path], object], told: str, tmp_path: Path
) -> None:
    """By their digests."""
    published, kept = tmp_path / "published", tmp_path / "kept"
    for folder in (published, kept):
        folder.mkdir()
        (folder / "a.log").write_bytes(b"one\ntwo\n")
    digests = digests_of(published)
    assert list(unlike("mirror-1", digests, digests_of(kept))) == []
    spoil(kept / "a.log")
    assert list(unlike("mirror-1", digests, digests_of(kept))) == [f"mirror-1 {told}"]


def test_a_line_that_counts_twice(tmp_path: Path, hf: Holdfast) -> None:
    """Here by a name that the direct count does not know."""
    example = load_example(example_file("logs.py"))
    (tmp_path / "a.log").write_text("10.0.0.1 2011-10-10 login\n")
    direct = example.DirectCount.of(tmp_path)
    tally = hf.tally("checked")
    geo = example.GeoTable.from_geolite2_csv(*example.write_table(tmp_path))
    for number, name in enumerate(("a.log", "again.log")):
        (tmp_path / name).write_text("10.0.0.1 2011-10-10 login\n")
        tally.aggregate(LocalFiles(tmp_path / name), key=example.GeoKey(geo))
        found = list(differences(tally, direct))
        assert ("the tally says 2, a direct count 1" in " ".join(found)) is bool(number), found
