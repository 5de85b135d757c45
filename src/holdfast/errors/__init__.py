"""Every exception Holdfast raises: one tree under `HoldfastError`.

    HoldfastError
    ├── ServerUnavailable      surely not applied
    │   └── ServerRefused      the server answered with an error before doing anything
    │       └── Unsupported    it cannot make writes as durable as it should
    ├── ClientClosed           nothing was sent: the client was closed
    ├── OutcomeUnknown         perhaps applied; `repeat()` makes it applied exactly once
    ├── InvalidName (ValueError)
    ├── PayloadTooLarge (ValueError)
    ├── DecodeError (ValueError)
    ├── UnknownTask (LookupError)
    ├── DefinitionConflict (ValueError)
    ├── NotDefined (LookupError)
    ├── LockTimeout (TimeoutError)
    ├── LeaseLost              someone else may hold it by now
    ├── StaleFence             nothing was stored
    ├── QueueAtCapacity        nothing of this call was stored in that queue
    ├── TaskFailed             there is no result, and there will be none
    ├── ResultTimeout (TimeoutError)
    ├── CounterOverflow (OverflowError)  nothing was counted
    ├── TimeOutOfRange (ValueError)      likewise
    ├── MailboxFull            nothing was put into it
    ├── NoSuchChat (LookupError)
    ├── NotAMember             of that chat
    ├── ChatExists             under that id
    ├── TooManyMembers (ValueError)
    ├── StaleBatch             nothing was acknowledged: the server lost what the batch came from
    ├── NoSuchMessage (LookupError)
    ├── LoadFailed             and there is no older copy
    ├── BudgetExceeded         of a feed; publishing again goes on
    ├── DamagedFile            the feed goes on
    ├── FileTaken              what was not acknowledged is read elsewhere
    ├── FilesMissed            by a consumer that was silent
    ├── FileDiffers (ValueError)  nothing was published
    ├── FeedSealed             likewise
    ├── FeedAborted            everything in it is gone
    ├── FeedLost               likewise
    ├── FeedCrowded            nothing was added
    ├── StillPublishing        nothing was sealed
    ├── UnknownConsumer (LookupError)
    ├── BadGeoData (ValueError)  nothing of that file is used
    ├── ServerNotFound         no Valkey or Redis binary for the embedded server
    └── ServerFailed           the embedded server did not start or stop
        └── ServerInUse        it was not stopped, because processes have it open

Each error builds its own message (what happened, to which named thing, what to do) and keeps its
fields. Wrong arguments are plain `ValueError` and `TypeError`, raised before any I/O.
"""

from .base import (
    ClientClosed,
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
    on_one_line,
    shortened,
)
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
    FilesMissed,
    FileTaken,
    StillPublishing,
    UnknownConsumer,
)
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
    QueueAtCapacity,
    ResultTimeout,
    TaskFailed,
    UnknownTask,
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
    "ChatExists",
    "ClientClosed",
    "CounterOverflow",
    "DamagedFile",
    "DecodeError",
    "DefinitionConflict",
    "FeedAborted",
    "FeedCrowded",
    "FeedLost",
    "FeedSealed",
    "FileDiffers",
    "FileTaken",
    "FilesMissed",
    "HoldfastError",
    "InvalidName",
    "LeaseLost",
    "LoadFailed",
    "LockTimeout",
    "MailboxFull",
    "NoSuchChat",
    "NoSuchMessage",
    "NotAMember",
    "NotDefined",
    "OutcomeUnknown",
    "PayloadTooLarge",
    "QueueAtCapacity",
    "ResultTimeout",
    "ServerFailed",
    "ServerInUse",
    "ServerNotFound",
    "ServerRefused",
    "ServerUnavailable",
    "StaleBatch",
    "StaleFence",
    "StillPublishing",
    "TaskFailed",
    "TimeOutOfRange",
    "TooManyMembers",
    "UnknownConsumer",
    "UnknownTask",
    "Unsupported",
    "on_one_line",
    "shortened",
]
