"""The matrix as data: what is expected of each block under each fault.

    S  safe: not one violation
    U  safe, and an operation may end unknown: repeating it settles that
    B  bounded: only what is named below, and lost only what was acknowledged shortly before
    V  violated, as documented: only what is named below
    -  does not apply, for the reason below

Every cell that is played must also recover: each kind of operation succeeds again.
"""

from dataclasses import dataclass

from faults.matrix.cell_result import Kind

MARKS = """
       lock rw_lock singleton semaphore limiter idempotency queue partitions schedules mailbox chat completions counter cache rows files tallies
  F1   S    S       S         S         S       S           S     S          S         S       S    S           S       S     S    S     S
  F2   S    S       S         S         S       S           S     S          S         S       S    S           S       S     S    S     S
  F3   U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F4   U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F5   V    V       V         V         V       V           B     B          B         B       B    B           B       V     V    B     B
  F5d  V    V       V         V         U       U           B     B          B         U       U    U           U       U     U    U     U
  F6   U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F7   U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F8   U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F9   V    V       V         V         V       V           B     B          B         B       B    B           B       V     V    B     B
  F9d  V    V       V         V         U       U           B     B          B         U       U    U           U       U     U    U     U
  F10  V    V       V         V         V       V           B     B          B         B       B    B           B       V     V    B     B
  F10b V    V       V         V         V       V           B     B          B         B       B    B           B       V     V    B     B
  F10d V    V       V         V         U       U           B     B          B         U       U    U           U       U     U    U     U
  F11  S    S       S         S         S       S           S     S          S         S       S    S           S       S     S    S     S
  F11b S    S       S         S         S       S           S     S          S         S       S    S           S       S     S    S     S
  F12  V    V       V         V         V       S           S     S          S         S       S    S           V       S     S    S     S
  F13  S    S       S         S         S       S           S     S          S         S       S    S           S       S     S    S     S
  F14  U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F15  U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F15b V    V       V         V         V       V           V     V          -         V       -    V           V       V     V    -     V
  F15c U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F15d U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F15e U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F16  -    -       -         -         -       -           S     S          S         -       -    S           S       -     -    -     -
  F17  -    -       -         -         -       -           S     -          -         -       -    -           -       -     S    -     -
  F18  S    S       S         S         S       S           S     S          S         S       S    S           S       S     S    S     S
  F19  -    -       -         -         -       -           -     -          -         -       -    -           -       -     S    -     -
  F19b U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F20  V    V       V         V         V       V           B     B          B         B       B    B           B       V     V    B     B
  F21  U    U       U         U         U       U           U     U          U         U       U    U           U       U     U    U     U
  F22  -    -       -         -         -       -           S     -          -         -       -    -           -       -     -    -     -
  F22b -    -       -         -         -       -           S     -          -         -       -    -           -       -     -    -     -
  F22c -    -       -         -         -       -           S     -          -         -       -    -           -       -     -    -     -"""  # noqa: E501


@dataclass(frozen=True)
class Cell:
    """What is expected of one block under one fault.

    Attributes:
        mark: of the table above.
        allows: kinds of violations that are no failure here.
        why: of what is allowed, or why nothing is played.
        shows: whether one of them must be seen, since the fault is sure to cause it.
        chance: what it depends on whether one is seen, where that is not sure.
    """

    fault: str
    block: str
    mark: str
    allows: frozenset[Kind] = frozenset()
    why: str = ""
    shows: bool = False
    chance: str = ""


LOST = "acknowledged writes that the server itself loses are not promised"
FENCED = f"{LOST}: a forgotten lease is given away, and the fence protects what is written"

FORGETFUL = f"{FENCED}, unless it lies in the same server (`hf.fenced`) and is forgotten with it"

RENEWED = (
    "renewals do not wait: one that the server loses ends the lease there sooner than its holder "
    "thinks, and the fence protects what is written"
)
CLAIMED = (
    "claims do not wait: one that the server loses is made again, and its token given out again"
)

ALLOWED: dict[str, tuple[set[Kind], str]] = {
    "F5 lock": ({"overlap", "stale"}, FORGETFUL),
    "F5 rw_lock": ({"overlap", "stale"}, FORGETFUL),
    "F5 singleton": ({"overlap", "stale"}, FORGETFUL),
    "F5 semaphore": ({"overlap"}, FENCED),
    "F5 limiter": ({"doubled"}, f"{LOST}: what passed is forgotten, and passes once more"),
    "F5 idempotency": ({"doubled"}, f"{LOST}: a call with a forgotten answer is done again"),
    "F5 queue": ({"lost", "doubled", "stale"}, f"{LOST}, later claims among them"),
    "F5 partitions": (
        {"lost", "doubled", "stale"},
        f"{LOST}, later claims among them; a number of partitions that is lost is restored",
    ),
    "F5 schedules": (
        {"lost", "doubled"},
        f"{LOST}; an instant that the server forgot is fired again, under the same task id",
    ),
    "F5 chat": (
        {"lost", "reported"},
        f"{LOST}; readers shown more than is left get an error",
    ),
    "F5 mailbox": (
        {"lost", "reported"},
        f"{LOST}; an owner shown more than is left gets an error",
    ),
    "F5 completions": ({"lost", "stale"}, LOST),
    "F5 counter": ({"lost"}, LOST),
    "F5 cache": ({"stale"}, f"{LOST}, invalidations among them"),
    "F5 rows": ({"stale"}, f"{LOST}, invalidations among them"),
    "F5 files": ({"lost", "doubled"}, LOST),
    "F5 tallies": ({"stale"}, f"{LOST}; up to where is lost with it, so all is counted again"),
    "F5d lock": ({"overlap"}, RENEWED),
    "F5d rw_lock": ({"overlap"}, RENEWED),
    "F5d singleton": ({"overlap"}, RENEWED),
    "F5d semaphore": ({"overlap"}, RENEWED),
    "F5d queue": ({"doubled"}, CLAIMED),
    "F5d partitions": ({"doubled"}, CLAIMED),
    "F5d schedules": ({"doubled"}, CLAIMED),
    "F12 lock": ({"overlap"}, "no lease survives a step of the clock: the fence protects"),
    "F12 rw_lock": ({"overlap"}, "no lease survives a step of the clock: the fence protects"),
    "F12 singleton": ({"overlap"}, "no lease survives a step of the clock: the fence protects"),
    "F12 semaphore": ({"overlap"}, "no lease survives a step of the clock: the fence protects"),
    "F12 limiter": ({"doubled"}, "each step forward lets one more limit pass: docs/limits.md"),
    "F12 counter": ({"lost", "disordered"}, "a sample is counted when the server says it is"),
}
"""By fault and block."""

AS = {"F9": "F5", "F10": "F5", "F10b": "F5", "F15b": "F5", "F9d": "F5d", "F10d": "F5d"}
AS |= {"F20": "F5"}
"""What the server loses there is as here."""

SURE = {
    *("F5 completions", "F5 counter"),
    *("F9 completions", "F9 counter"),
    *("F15b completions", "F15b counter"),
    *("F20 completions", "F20 counter"),
}
"""Where something is lost whatever happens: a run that shows nothing has not played the fault."""

HEARD = "a replica on the same machine has heard nearly all when its primary dies; F9 makes sure"

CHANCE = {
    "F5 lock": "a client must hold it by an acquisition that is lost, and another one ask",
    "F5 rw_lock": "a writer must take part in it by an acquisition that is lost, and others ask",
    "F5 singleton": "a process must run it by an acquisition that is lost, and another one wait",
    "F5 semaphore": "a client must hold a permit by an acquisition that is lost, and others ask",
    "F5 limiter": "what is lost must be most of what passed in one period",
    "F5 idempotency": "what is lost must be an answer that a client has got",
    "F5 queue": "what is lost must be a task that waits, or the end of one",
    "F5 partitions": "what is lost must be a task that waits, or the end of one",
    "F5 schedules": "what is lost must be a task that waits, or the end of one",
    "F5 mailbox": "what is lost must be a message that was not yet read",
    "F5 chat": "what is lost must be a message that one of its readers has not yet read",
    "F5 cache": "what is lost must be an invalidation, and a caller come before the next one",
    "F5 rows": "what is lost must be an invalidation, and a reader come before the next refresh",
    "F5 files": "what is lost must be a file that is published and not yet consumed, or a position",
    "F5 tallies": "what is lost must be the count of a file",
    "F5d lock": "what is lost must be the last renewal before a lease ends",
    "F5d rw_lock": "what is lost must be the last renewal before a lease ends",
    "F5d singleton": "what is lost must be the last renewal before a lease ends",
    "F5d semaphore": "what is lost must be the last renewal before a lease ends",
    "F5d schedules": "the lost write must be the claim of a task that has begun",
    "F5d queue": "the lost write must be the claim of a task that has begun",
    "F5d partitions": "the lost write must be the claim of a task that has begun",
    "F12 lock": "a client must hold it when the clock steps, and another one ask",
    "F12 rw_lock": "a client must hold it when the clock steps, and a writer ask, or the other way",
    "F12 singleton": "a process must run it when the clock steps, and another one wait",
    "F12 semaphore": "all places must be held when the clock steps, and another one ask",
    "F12 limiter": "the limit must be used up when the clock steps, and others ask",
    "F12 counter": "a step must fall between a count and the window in which it is looked for",
}
"""What must coincide where a violation is not certain, by fault and block."""

UNDECODABLE = "what cannot be decoded is shown in its place: tests/messages/test_damage_sync.py"

REASONS = {
    "F15b chat": "it is gone, and every call raises NoSuchChat",
    "F15b schedules": "they are gone; declared ones come back when a worker starts",
    "F15b files": "the feed is gone, and every call raises FeedLost",
    "F16 lock": "an acquisition is named before it is sent; F7 repeats it",
    "F16 rw_lock": "an acquisition is named before it is sent; F7 repeats it",
    "F16 singleton": "an acquisition is named before it is sent; F7 repeats it",
    "F16 limiter": "an acquisition is named before it is sent; F7 repeats it",
    "F16 idempotency": "a caller that dies frees its key: F1; F7 repeats calls",
    "F16 semaphore": "an acquisition is named before it is sent; F7 repeats it",
    "F16 mailbox": "killed senders repeat what they sent: F1",
    "F16 chat": "killed senders repeat what they sent: F1",
    "F16 cache": "all its calls are harmless to repeat; F7 repeats them",
    "F16 rows": "invalidating and refreshing are harmless to repeat",
    "F16 files": "killed publishers publish again: F1",
    "F16 tallies": "in every cell files are counted that others have counted",
    "F17": "nothing of the user's runs in it",
    "F17 partitions": "a task that kills its workers: queue",
    "F17 schedules": "a task that kills its workers: queue",
    "F17 mailbox": UNDECODABLE,
    "F17 chat": UNDECODABLE,
    "F17 cache": "a function that fails: tests/cache/test_stampede.py",
    "F17 files": "what is damaged is given up by itself: tests/files/test_trouble.py",
    "F17 tallies": "in every cell a tenth of the lines cannot be counted",
    "F17 lock": "a holder that dies: F1",
    "F17 rw_lock": "a holder that dies: F1",
    "F17 singleton": "a process that dies: F1",
    "F17 limiter": "a caller that dies: F1",
    "F17 idempotency": "a caller that dies: F1",
    "F17 semaphore": "a holder that dies: F1",
    "F19": "no database",
    "F22 partitions": "worker processes: queue",
    "F22 schedules": "worker processes: queue",
    "F22": "it has no worker processes; killed clients: F1",
    "F22b partitions": "worker processes: queue",
    "F22b schedules": "worker processes: queue",
    "F22b": "it has no worker processes; killed clients: F1",
    "F22c partitions": "worker processes: queue",
    "F22c schedules": "worker processes: queue",
    "F22c": "it has no worker processes",
}


def _cells() -> dict[tuple[str, str], Cell]:
    head, *rows = [line.split() for line in MARKS.splitlines() if line.strip()]
    cells = {}
    for fault, *marks in rows:
        for block, mark in zip(head, marks, strict=True):
            name = f"{AS.get(fault, fault)} {block}"
            if mark == "-":
                why = REASONS.get(f"{fault} {block}", REASONS.get(fault, ""))
                cells[fault, block] = Cell(fault, block, mark, why=why)
                continue
            allows, why = ALLOWED.get(name, (set(), ""))
            shows = f"{fault} {block}" in SURE
            chance = "" if shows else HEARD if fault in {"F10", "F10b"} else CHANCE.get(name, "")
            cells[fault, block] = Cell(fault, block, mark, frozenset(allows), why, shows, chance)
    return cells


CELLS = _cells()
"""By fault and block."""


CHOICE = """
    F1   limiter idempotency cache queue schedules mailbox completions files
    F2   lock rw_lock singleton semaphore queue
    F3   counter rows
    F4   queue schedules chat completions
    F5   lock files tallies
    F5d  counter
    F6   lock rows
    F7   lock rw_lock limiter idempotency cache queue partitions schedules chat counter rows files
    F8   semaphore queue chat completions
    F9   lock singleton queue schedules
    F9d  queue
    F10  lock rw_lock limiter queue chat
    F10b queue partitions
    F10d mailbox
    F11  queue partitions chat counter files
    F11b queue tallies
    F12  lock queue schedules
    F13  semaphore queue chat
    F14  lock rw_lock queue chat counter
    F15  lock queue completions rows
    F15b lock
    F15c queue counter
    F15d mailbox
    F15e lock
    F16  counter
    F17  queue rows
    F18  rows
    F19  rows
    F19b queue
    F20  lock queue files
    F21  lock limiter counter
    F22  queue
    F22b queue
    F22c queue
"""
"""What `make faults` plays, in five minutes."""

QUICK = {("F1", "completions"), ("F7", "counter")}
"""What `make test` plays."""


def chosen() -> set[tuple[str, str]]:
    """Return the cells of `CHOICE`."""
    rows = [line.split() for line in CHOICE.splitlines() if line.strip()]
    return {(fault, block) for fault, *blocks in rows for block in blocks}
