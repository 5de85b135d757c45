"""The chat demo: phones that go offline, in processes that are killed, write to each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Annotated, Any, ClassVar, Final

from rich.table import Table
from rich.text import Text

from .context import DemoContext
from .demo import Bar, Demo, Figures, Grid, Invariant, until
from .example_files import example
from .options import Seconds, Seed, number
from .report import counted

OPENS_AT_H, HOURS = 7, 12  # first hour and number of hours of the simulated day
LINGER_S: Final = 0.5  # wait at the end for messages that must not arrive a second time
ONLINE, TUNNEL, KILLED = ("●", "green"), ("○", "yellow"), ("×", "red")


@dataclass
class ChatDemo(Demo):
    """Exchange messages between phones that lose their connection.

    The people of Fake Garage write to each other and in group chats, one day in
    fast motion. Their phones go through tunnels, where a message may arrive but
    its reply does not. The processes of the phones are killed and started again
    with what they have on disk.

    At the end the disks of all phones are compared. The exit code is 1 if a
    phone misses a message, has one out of order, or got one again after it
    acknowledged it.
    """

    name: ClassVar = "chat"
    seed: Seed = None
    clients: Annotated[int, number("--clients", "Number of phones", 4, 400)] = 60
    seconds: Seconds = 20.0

    def start(self, context: DemoContext) -> None:
        """Start the processes of the phones. The example kills some of them itself."""
        module, seed = example("fakegarage/__init__.py"), context.seed
        day = module.Day.make(seed=seed, clients=self.clients, seconds=self.seconds)
        folder = context.subfolder("phones")
        self._garage: Any = module.Garage(
            day, seed=seed, server=context.socket, folder=folder, namespace=context.namespace
        )
        self.opened.callback(self._garage.end)
        self._garage.start()

    def poll(self) -> bool:
        return bool(self._garage.look())

    def finish(self) -> Iterator[None]:
        """Wait until each phone has all its messages, and a little longer."""
        yield from until(lambda: not self._garage.look())
        yield from until(lambda: False, patience_s=LINGER_S)
        self.end()

    def line(self) -> str:
        line: str = self._garage.progress_line()
        return line.partition("s  ")[2]

    def figures(self) -> Figures:
        garage, accounts = self._garage, self._garage.accounts.values()
        one, many = garage.mailboxes, garage.chats
        bars = (
            ("written", one.written + many.written, one.to_write + many.to_write, ""),
            ("one-to-one", one.delivered, one.to_deliver, " delivered"),
            ("group chats", many.delivered, many.to_deliver, " delivered"),
        )
        legend = ((ONLINE, "has signal"), (TUNNEL, "in a tunnel"), (KILLED, "process killed"))
        signs = (Text.assemble(sign, (f" {meaning}", "dim")) for sign, meaning in legend)
        notes: list[tuple[str, Any]] = [
            ("time", _clock(garage.elapsed_s, garage.day.seconds)),
            ("phones", self._phones()),
            ("", Text("   ").join(signs)),
            ("offline", self._offline()),
        ]
        unsure = sum(account.unsure for account in accounts)
        notes.append(("unsure", _hinted(unsure, "sent again under the same name, for no answer")))
        repeats = sum(account.repeats for account in accounts)
        notes.append(
            ("repeated", _hinted(repeats, "read twice, cut off before the acknowledgement"))
        )
        return Figures(
            bars=[Bar(name, n, all_, f"{n:,} of {all_:,}{what}") for name, n, all_, what in bars],
            notes=notes,
            extra=[self._latest()],
        )

    def final_figures(self) -> Figures:
        results, garage = self.results(), self._garage
        rows = [
            [name, *(f"{n:,}" for n in (places, count.written, count.to_deliver, count.delivered)),
             f"{count.to_deliver - count.delivered:,}"]
            for name, places, count in (
                ("one-to-one messages", len(garage.day.users), garage.mailboxes),
                ("group chats", results["chats"]["places"], garage.chats),
            )
        ]  # fmt: skip
        sends, repeats = counted(results["unsure"], "send"), counted(results["repeats"], "message")
        notes = [
            ("offline", self._offline()),
            ("unsure", f"{sends} without an answer, made again under the same name"),
            ("repeated", f"{repeats} read twice, for want of an acknowledgement"),
        ]
        if results["wait_most_s"] is not None:
            usual = f"{results['wait_median_s'] * 1000:,.0f} ms (median)"
            most = f"{results['wait_most_s']:.1f} s (90 %)"
            notes.append(("wait", f"{usual}, {most} from server to disk, tunnels included"))
        columns = ("", "places", "written", "to deliver", "delivered", "missing")
        return Figures(grids=[Grid(columns, rows)], notes=notes)

    def invariants(self) -> Iterator[Invariant]:
        """Compare the messages that all phones have on disk."""
        self.end()
        garage = self._garage
        delivered = garage.mailboxes.delivered + garage.chats.delivered
        problems = tuple(garage.problems())
        promise = "every message, in one order, to every reader"
        yield Invariant("messages", promise, delivered, "deliveries", problems)
        yield sent_once(garage.accounts)

    def results(self) -> dict[str, Any]:
        garage, day = self._garage, self._garage.day
        accounts = garage.accounts.values()
        waits = [wait for account in accounts for wait in account.waits_s]
        users = len(day.users)
        return {
            "clients": users,
            "processes": len(day.processes),
            "seconds": garage.elapsed_s,
            "mailboxes": {"places": users, **asdict(garage.mailboxes)},
            "chats": {"places": len(day.readers) - users, **asdict(garage.chats)},
            "tunnels": sum(account.tunnels for account in accounts),
            "kills": garage.kills,
            "unsure": sum(account.unsure for account in accounts),
            "repeats": sum(account.repeats for account in accounts),
            "wait_median_s": round(median(waits), 4) if waits else None,
            "wait_most_s": round(quantiles(waits, n=10)[-1], 4) if len(waits) > 1 else None,
        }

    def introduction(self) -> str:
        day = self._garage.day
        chats = counted(len(day.readers) - len(day.users), "group chat")
        return (
            f"{len(day.users)} phones in {len(day.processes)} processes write one-to-one and in "
            f"{chats}.\n  Tunnels take them offline, and processes are killed."
        )

    def pids(self) -> Mapping[str, int]:
        pids: dict[str, int] = self._garage.pids()
        return pids

    def _offline(self) -> str:
        tunnels = sum(account.tunnels for account in self._garage.accounts.values())
        return f"{counted(tunnels, 'time')} in a tunnel; processes killed: {self._garage.kills:,}"

    def _phones(self) -> Text:
        """Return a sign for each phone."""
        down, signs = self._garage.down, Text()
        for user, account in self._garage.accounts.items():
            signs.append(*(KILLED if user in down else ONLINE if account.signal else TUNNEL))
        return signs

    def _latest(self) -> Table:
        """Return the latest messages, and how many of their readers have them."""
        garage = self._garage
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(style="dim", width=14, no_wrap=True, overflow="ellipsis")
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_column(justify="right", no_wrap=True)
        for act in garage.said:
            readers = [user for user in garage.day.readers[act.to] if user != act.user]
            seq = garage.accounts[act.user].done[act.id]
            have = sum(seq in garage.accounts[user].got.get(act.to, ()) for user in readers)
            style = "green" if have == len(readers) else "yellow"
            to = f"to {act.to}" if act.kind == "whisper" else act.to
            received = Text(f"{have} of {len(readers)} have it", style)
            table.add_row(to, f"{act.user}: {act.text}", received)
        return table


def _hinted(number: int, hint: str) -> Text:
    return Text.assemble(f"{number:,} ", (hint, "dim italic"))


def _clock(elapsed_s: float, seconds: float) -> str:
    if elapsed_s > seconds:
        return f"{OPENS_AT_H + HOURS}:00, the day is over; some have to catch up"
    minutes = OPENS_AT_H * 60 + round(HOURS * 60 * elapsed_s / seconds)
    return f"{minutes // 60:02}:{minutes % 60:02}"


def sent_once(accounts: Mapping[str, Any]) -> Invariant:
    """Check that no message is there twice, although writers repeated sends without a reply.

    Each message has its own operation id, under which its writer sent it until it got a reply.
    """
    problems = []
    for account in accounts.values():
        for source, got in account.got.items():
            copies = Counter(note.id for note in got.values())
            doubled = sorted(each for each, count in copies.items() if count > 1)
            problems += [
                f"{account.user} has {each} of {source} more than once" for each in doubled
            ]
    unsure = sum(account.unsure for account in accounts.values())
    done = sum(len(account.done) for account in accounts.values())
    what = f"writes, {unsure:,} unsure"
    return Invariant("every write", "applied exactly once", done, what, tuple(problems))
