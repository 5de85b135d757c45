"""Test the checks of `holdfast demo`: each finds broken evidence, and accepts sound evidence."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from faults.servers import Server
from holdfast import Holdfast, LocalFiles
from holdfast_demo.chat import sent_once
from holdfast_demo.demo import Invariant
from holdfast_demo.downloads import at_most
from holdfast_demo.example_files import example
from holdfast_demo.guild_names import everybody, starting
from holdfast_demo.logs.counts import counted_once
from holdfast_demo.logs.feeds import digests_of, unlike
from holdfast_demo.mail.checks import (
    MailCopies,
    copies_of,
    dead_with_a_reason,
    in_order,
    not_before_its_time,
    not_too_often,
    once_at_least,
)
from holdfast_demo.mail.events import MarketEvent
from holdfast_demo.mail.order import ClaimOrder
from holdfast_demo.mail.smtp_server import MailArrival
from holdfast_demo.market.audit import Assets, problems
from holdfast_demo.market.fence_notes import fences_rise
from holdfast_demo.market.trader import TradeCounts
from holdfast_demo.players import misdelivered, misfound, missed
from holdfast_demo.shop import InvalidatedRow, balanced, differing, never_older

SALE = MarketEvent("sale", "sale-1", {}, delay_s=5.0)


def arrival(started_at: float) -> MailArrival:
    return MailArrival("sale-1@fakegame.example", 1, 1, 100.0, started_at, started_at + 1)


def account(*ids: str) -> SimpleNamespace:
    got = {seq: SimpleNamespace(id=each) for seq, each in enumerate(ids, 1)}
    return SimpleNamespace(user="jill", got={"lunch": got}, unsure=1, done={"jill/1": 1})


def as_invariant(found: Iterator[str]) -> Invariant:
    return Invariant("block", "promise", 1, "things", tuple(found))


def traded(offers: dict[str, str], gold: int) -> Invariant:
    held = Assets({"buyer": gold}, {"buyer": frozenset({"egg"})}, offers)
    counts = TradeCounts(bought=1)
    items = {"egg", "sword"}
    return as_invariant(problems(held, counts, gold=100, items=items, buyers=["buyer"]))


CHECKS: dict[str, tuple[Callable[[], Invariant], Callable[[], Invariant], str]] = {
    "a mail is missing": (
        lambda: once_at_least(copies_of([SALE], Counter([SALE.mail_id])), 1),
        lambda: once_at_least(copies_of([SALE], Counter()), 1),
        "there is no mail of sale-1",
    ),
    "a garbled task is not dead": (
        lambda: dead_with_a_reason([SALE], {"sale-1": "bad-arguments"}),
        lambda: dead_with_a_reason([SALE], {}),
        "sale-1 is not dead-lettered",
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
        lambda: not_too_often(MailCopies([], ["a"] * 32), 1),
        lambda: not_too_often(MailCopies([], ["a"] * 33), 1),
        "33 mails came twice, after 1 kill",
    ),
    "a mail is early": (
        lambda: not_before_its_time([SALE], [arrival(105.0)]),
        lambda: not_before_its_time([SALE], [arrival(104.9)]),
        "sale-1 was begun before its time",
    ),
    "nothing was delayed": (
        lambda: not_before_its_time([SALE], [arrival(105.0)]),
        lambda: not_before_its_time([SALE], []),
        "",
    ),
    "a better one waited": (
        lambda: in_order(ClaimOrder(judged=True, claims=9)),
        lambda: in_order(ClaimOrder(judged=True, claims=9, passed_over=["expired-1"])),
        "expired-1 was claimed while a more urgent one waited",
    ),
    "one in front waited": (
        lambda: in_order(ClaimOrder(judged=True, claims=9)),
        lambda: in_order(ClaimOrder(judged=True, claims=9, out_of_turn=["sold-1"])),
        "sold-1 was claimed before one enqueued earlier",
    ),
    "the order was not judged": (
        lambda: in_order(ClaimOrder(judged=True, claims=9)),
        lambda: in_order(ClaimOrder()),
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
        lambda: at_most(3, visits=9, most=3),
        lambda: at_most(3, visits=9, most=4),
        "there were 4 downloads at once",
    ),
    "a message is there twice": (
        lambda: sent_once({"jill": account("jack/1", "jack/2")}),
        lambda: sent_once({"jill": account("jack/1", "jack/1")}),
        "jill has jack/1 of lunch more than once",
    ),
    "a hit is missing": (
        lambda: as_invariant(missed({"/": 7}, {("/", 1): 7, ("/", 60): 7})),
        lambda: as_invariant(missed({"/": 7}, {("/", 1): 7, ("/", 60): 6})),
        "/ had 7 hits; in samples of 60 s are 6",
    ),
    "a name is not found": (
        lambda: as_invariant(misfound({"Anna Smith"}, {"sm": ["Anna Smith"], "b": []})),
        lambda: as_invariant(misfound({"Anna Smith"}, {"sm": [], "b": []})),
        "a search for 'sm' does not find exactly",
    ),
    "a name is found twice": (
        lambda: as_invariant(misfound({"Anna Smith"}, {"a": ["Anna Smith"]})),
        lambda: as_invariant(misfound({"Anna Smith"}, {"a": ["Anna Smith", "Anna Smith"]})),
        "a search for 'a' does not find exactly",
    ),
    "a mail came twice": (
        lambda: as_invariant(misdelivered({"Anna": 1}, {"Anna": 1, "Ben": 0})),
        lambda: as_invariant(misdelivered({"Anna": 1}, {"Anna": 2, "Ben": 0})),
        "Anna was sent 1 mails, and has 2",
    ),
    "a row is old": (
        lambda: as_invariant(differing({1: 5}, {1: 5})),
        lambda: as_invariant(differing({1: 5}, {1: 6})),
        "the cache shows 6 of item 1, the database has 5",
    ),
    "a row is not there": (
        lambda: as_invariant(differing({1: 5}, {1: 5})),
        lambda: as_invariant(differing({1: 5}, {})),
        "the cache shows None of item 1",
    ),
    "a row was read before it was invalidated": (
        lambda: never_older([InvalidatedRow(1, 5, 4), InvalidatedRow(2, 5, 5)]),
        lambda: never_older([InvalidatedRow(1, 5, 4), InvalidatedRow(2, 5, 6)]),
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
    """Accept the sound evidence, and name the problem in the broken one."""
    sound, broken, shown = CHECKS[what]
    assert sound().kept, sound().problems
    assert not broken().kept
    assert shown in " ".join(broken().problems)


def test_a_check_of_nothing_keeps_no_promise() -> None:
    """Keep no promise by a check that looked at nothing."""
    assert Invariant("locks", "fences only rise", 1, "fences").kept
    assert not Invariant("locks", "fences only rise", 0, "fences").kept


@pytest.mark.parametrize(
    ("spoil", "shown"),
    [
        (lambda log: log.write_bytes(b"two\none\n"), "has other bytes in a.log"),
        (lambda log: log.unlink(), "has no a.log"),
        (lambda log: log.with_name("b.log").touch(), "has b.log, which was never published"),
    ],
    ids=["order", "missing", "more"],
)
def test_bytes_that_are_not_as_published(
    spoil: Callable[[Path], object], shown: str, tmp_path: Path
) -> None:
    """Compare files by their digests."""
    published, kept = tmp_path / "published", tmp_path / "kept"
    for folder in (published, kept):
        folder.mkdir()
        (folder / "a.log").write_bytes(b"one\ntwo\n")
    digests = digests_of(published)
    assert list(unlike("mirror-1", digests, digests_of(kept))) == []
    spoil(kept / "a.log")
    assert list(unlike("mirror-1", digests, digests_of(kept))) == [f"mirror-1 {shown}"]


def test_a_line_that_counts_twice(tmp_path: Path, standalone: Server) -> None:
    """Count a file that the direct count does not read."""
    module = example("logs.py")
    (tmp_path / "a.log").write_text("10.0.0.1 2011-10-10 login\n")
    geo = module.GeoTable.from_geolite2_csv(*module.write_table(tmp_path))
    copy = tmp_path / "again.txt"
    copy.write_text("10.0.0.1 2011-10-10 login\n")
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        tally = hf.tally("checked")
        for file, kept in ((tmp_path / "a.log", True), (copy, False)):
            tally.aggregate(LocalFiles(file), key=module.GeoKey(geo))
            found = counted_once(tally, tmp_path)
            assert found.kept is kept, found
    assert "the tally says 2, a direct count 1" in " ".join(found.problems)


def test_the_rule_for_names() -> None:
    """Test the demo's own search, which the check compares with."""
    assert set(starting({"Carla Santos", "Émile 张", "O'Hara"}, "E")) == {"Émile 张"}
    assert set(starting({"Carla Santos", "Émile 张", "O'Hara"}, "ha")) == {"O'Hara"}
    assert len(everybody()) == len(set(everybody())) == 140


ASSETS = Assets(
    gold={"seller1": 30, "buyer1": 70},
    bags={"seller1": frozenset({"s-1"}), "buyer1": frozenset({"s-0"})},
    offers={"crown": "1000 king"},
)
COUNTS = TradeCounts(crafted=2, listed=1, bought=1)


def audited(assets: Assets, counts: TradeCounts = COUNTS) -> list[str]:
    items = {"s-0", "s-1", "crown"}
    return list(problems(assets, counts, gold=100, items=items, buyers=["buyer1"]))


@pytest.mark.parametrize(
    ("gold", "offers", "sentence"),
    [
        ({"seller1": 31, "buyer1": 70}, ASSETS.offers, "100 gold, now there are 101"),
        ({"seller1": 130, "buyer1": -30}, ASSETS.offers, "buyer1 owes 30 gold"),
        (ASSETS.gold, {}, "1 items vanished: crown"),
        (ASSETS.gold, {"crown": "", "egg": ""}, "1 items came from nowhere: egg"),
        (ASSETS.gold, {"crown": "", "s-0": ""}, "1 items are there twice: s-0"),
    ],
)
def test_an_audit_names_what_is_not_conserved(
    gold: dict[str, int], offers: dict[str, str], sentence: str
) -> None:
    """Print one sentence for each problem, and none without problems."""
    assert audited(ASSETS) == []
    [found] = audited(Assets(gold, ASSETS.bags, offers))
    assert found.endswith(sentence)


def test_counts_must_agree_with_the_data() -> None:
    """Skip this if a lease was lost: then only the data are sure."""
    problems = ["buyers say that they bought 2 items, and have 1"]
    assert audited(ASSETS, TradeCounts(bought=2)) == problems
    assert audited(ASSETS, TradeCounts(bought=2, unsure=1)) == []


def test_counts_together() -> None:
    """Add the counts; take the longest wait, and the mean over all attempts."""
    one = TradeCounts(bought=3, gone=1, waited_s=2.0, longest_s=1.5)
    both = TradeCounts.together([one, TradeCounts(cut_off=1, waited_s=3.0)])
    assert (both.mean_wait_s, both.longest_s) == (1.0, 1.5)
    assert TradeCounts().mean_wait_s is None


def test_readers_that_fail_are_named() -> None:
    """Name the errors of readers."""
    counts = {"reads": 5, "failed: LoadFailed": 2.0}
    shop = example("fakeshop/__init__.py")
    assert shop.Snapshot(True, 1.0, counts).failed == {"LoadFailed": 2}
