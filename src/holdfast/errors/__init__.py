"""Every exception Holdfast raises: one tree under `HoldfastError`.

    HoldfastError
    ├── ServerUnavailable      surely not applied
    │   ├── UnsupportedLayout        this version cannot read the layout of the namespace
    │   └── ServerRefused      the server answered with an error before applying anything
    │       ├── Unsupported    the server cannot make writes as durable as the client requires
    │       └── DamagedData (DecodeError)  another program changed the keys
    ├── ClientClosed           nothing was sent: the client was closed
    ├── UnsupportedPlatform    this part does not run on Windows
    ├── OutcomeUnknown         perhaps applied; after `repeat()` applied exactly once
    ├── InvalidName (ValueError)
    ├── PayloadTooLarge (ValueError)
    ├── DecodeError (ValueError)
    ├── UnknownTask (LookupError)
    ├── DefinitionConflict (ValueError)
    ├── NotDefined (LookupError)
    ├── LockTimeout (TimeoutError)
    ├── RateLimited (TimeoutError)  nothing was charged
    ├── LeaseLost              another client may hold the lock by now
    ├── StaleFence             nothing was stored
    ├── NoSuchSchedule (LookupError)
    ├── ScheduleExists (ValueError)
    ├── NoSuchGroup (LookupError)
    ├── GroupExists (ValueError)  nothing was stored
    ├── GroupTimeout (TimeoutError)  the group continues
    ├── WorkerCannotStart      a server rejects it; no task was run
    ├── LifespanFailed         the worker has ended
    ├── QueueAtCapacity        nothing of this call was stored in that queue
    ├── TaskExists (ValueError)  nothing of this call was stored in that queue
    ├── TaskFailed             there is no result, and there will be none
    ├── ResultTimeout (TimeoutError)
    ├── SignalRefused          the signal was not stored: the task has ended
    ├── SignalTimeout (TimeoutError)  in the task that waits
    ├── StepFailed             in an earlier run of the task
    ├── CounterOverflow (OverflowError)  nothing was counted
    ├── TimeOutOfRange (ValueError)      nothing was counted
    ├── MailboxFull            the message was not stored
    ├── NoSuchChat (LookupError)
    ├── NotAMember             the user is not a member of the chat
    ├── ChatExists             the chat was not changed
    ├── TooManyMembers (ValueError)
    ├── StaleBatch             nothing was acknowledged: the server lost the mailbox or chat
    ├── NoSuchMessage (LookupError)
    ├── LoadFailed             the cache has no older copy of the rows
    ├── CacheLoadFailed        the function failed in another process
    ├── CacheTimeout (TimeoutError)  another caller computes the result
    ├── BudgetExceeded         publishing the file again continues it
    ├── DamagedFile            the next files of the feed can be read
    ├── FileTaken              another consumer reads what was not acknowledged
    ├── FilesFailed            the files failed too often; they stay in the feed
    ├── FilesMissed            the consumer did not renew its lease in time
    ├── FileDiffers (ValueError)  nothing was published
    ├── FeedSealed             nothing was published
    ├── FeedAborted            all files of the feed were deleted
    ├── FeedLost               the server lost the feed
    ├── FeedCrowded            nothing was added
    ├── StillPublishing        the feed was not sealed
    ├── UnknownConsumer (LookupError)
    ├── BadGeoData (ValueError)  the file is not used
    ├── ServerNotFound         no Valkey or Redis binary for the embedded server
    └── ServerFailed           the embedded server did not start or stop
        └── ServerInUse        it was not stopped, because processes have it open

Each message states what happened, to which named thing, and what to do. Wrong arguments raise plain
`ValueError` and `TypeError` before any I/O.
"""

from .base import (
    ClientClosed,
    DamagedData,
    DecodeError,
    DefinitionConflict,
    HoldfastError,
    InvalidName,
    NotDefined,
    OutcomeUnknown,
    PayloadTooLarge,
    ServerRefused,
    ServerUnavailable,
    Unsupported,
    UnsupportedLayout,
    UnsupportedPlatform,
    on_one_line,
    shortened,
)
from .cache import CacheLoadFailed, CacheTimeout
from .counters import (
    CounterOverflow,
    TimeOutOfRange,
)
from .files import (
    BudgetExceeded,
    DamagedFile,
    FeedAborted,
    FeedCrowded,
    FeedLost,
    FeedSealed,
    FileDiffers,
    FilesFailed,
    FilesMissed,
    FileTaken,
    StillPublishing,
    UnknownConsumer,
)
from .limits import RateLimited
from .locks import (
    LeaseLost,
    LockTimeout,
    StaleFence,
)
from .messages import (
    ChatExists,
    MailboxFull,
    NoSuchChat,
    NoSuchMessage,
    NotAMember,
    StaleBatch,
    TooManyMembers,
)
from .queues import (
    GroupExists,
    GroupTimeout,
    LifespanFailed,
    NoSuchGroup,
    NoSuchSchedule,
    QueueAtCapacity,
    ResultTimeout,
    ScheduleExists,
    SignalRefused,
    SignalTimeout,
    StepFailed,
    TaskExists,
    TaskFailed,
    UnknownTask,
    WorkerCannotStart,
)
from .rows import LoadFailed
from .server import (
    ServerFailed,
    ServerInUse,
    ServerNotFound,
)
from .tallies import BadGeoData

__all__ = [
    "BadGeoData",
    "BudgetExceeded",
    "CacheLoadFailed",
    "CacheTimeout",
    "ChatExists",
    "ClientClosed",
    "CounterOverflow",
    "DamagedData",
    "DamagedFile",
    "DecodeError",
    "DefinitionConflict",
    "FeedAborted",
    "FeedCrowded",
    "FeedLost",
    "FeedSealed",
    "FileDiffers",
    "FileTaken",
    "FilesFailed",
    "FilesMissed",
    "GroupExists",
    "GroupTimeout",
    "HoldfastError",
    "InvalidName",
    "LeaseLost",
    "LifespanFailed",
    "LoadFailed",
    "LockTimeout",
    "MailboxFull",
    "NoSuchChat",
    "NoSuchGroup",
    "NoSuchMessage",
    "NoSuchSchedule",
    "NotAMember",
    "NotDefined",
    "OutcomeUnknown",
    "PayloadTooLarge",
    "QueueAtCapacity",
    "RateLimited",
    "ResultTimeout",
    "ScheduleExists",
    "ServerFailed",
    "ServerInUse",
    "ServerNotFound",
    "ServerRefused",
    "ServerUnavailable",
    "SignalRefused",
    "SignalTimeout",
    "StaleBatch",
    "StaleFence",
    "StepFailed",
    "StillPublishing",
    "TaskExists",
    "TaskFailed",
    "TimeOutOfRange",
    "TooManyMembers",
    "UnknownConsumer",
    "UnknownTask",
    "Unsupported",
    "UnsupportedLayout",
    "UnsupportedPlatform",
    "WorkerCannotStart",
    "on_one_line",
    "shortened",
]
