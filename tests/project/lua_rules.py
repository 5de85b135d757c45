"""What is asked of every Lua file: each rule yields what is wrong, in words."""

import re
from collections.abc import Iterator
from typing import Final

from project.lua import (
    ARGUMENT,
    CONSTANT,
    CONTINUED,
    FUNCTION,
    INCLUDE,
    KEY,
    RETURNS,
    Entry,
    LuaFile,
    Names,
    calls,
    code,
    last_name,
    unquoted,
    words,
)

MAX_SCRIPT_LINES: Final = 80
"""Without the header and without the parts: more does not fit on a screen, nor in a head."""

MAX_PART_LINES: Final = 60

MAX_LOCALS: Final = 200
"""Variables and functions of a script and its parts: Lua compiles no more."""

PRIORITIES: Final = 3
"""`KEYS[n + priority]` stands for the keys n + 1 to n + 3."""

ARGUMENT_TYPES: Final = ("int", "string")

RETURN_TYPES: Final = ("array", "int", "nil", "string")

READS: Final = {
    "EXISTS": "", "GET": "STRING", "HEXISTS": "HASH", "HGET": "HASH", "HGETALL": "HASH",
    "HLEN": "HASH", "HMGET": "HASH", "HRANDFIELD": "HASH", "HSTRLEN": "HASH",
    "LINDEX": "LIST", "LLEN": "LIST", "LRANGE": "LIST", "MGET": "STRING", "PTTL": "",
    "SCARD": "SET", "SISMEMBER": "SET", "TYPE": "", "XRANGE": "STREAM", "XREAD": "STREAM",
    "XREVRANGE": "STREAM", "ZCARD": "ZSET", "ZCOUNT": "ZSET", "ZINTER": "ZSET",
    "ZMSCORE": "ZSET", "ZRANGE": "ZSET", "ZSCORE": "ZSET",
}  # fmt: skip
"""Commands that change nothing, with the type of key that they want; "" takes any."""

WRITES: Final = {
    "DEL": "STRING", "EXPIRE": "", "EXPIREAT": "", "HDEL": "HASH", "HINCRBY": "HASH",
    "HSET": "HASH", "HSETNX": "HASH", "LPOP": "LIST", "LPUSH": "LIST", "LREM": "LIST",
    "LTRIM": "LIST", "PEXPIRE": "", "RENAME": "", "RPUSH": "LIST", "SADD": "SET", "SET": "STRING",
    "SPUBLISH": "channel", "SREM": "SET", "UNLINK": "", "XADD": "STREAM", "XTRIM": "STREAM",
    "ZADD": "ZSET", "ZINCRBY": "ZSET", "ZPOPMIN": "ZSET", "ZREM": "ZSET",
    "ZREMRANGEBYSCORE": "ZSET",
}  # fmt: skip
"""Commands that change data, with the type of key. Add one only if its cost has a fixed bound."""

KEYLESS: Final = {"TIME"}

SEVERAL_KEYS: Final = {
    "XREAD": "with COUNT 1, one message of each log",
    "ZINTER": "one set is small; the cost is one step for each of its members and each set",
}
"""Commands with their keys after other arguments, each with what bounds its cost."""

OPTIONS: Final = {
    "BYLEX", "BYSCORE", "COUNT", "EX", "EXAT", "GT", "LIMIT", "MINID", "NX", "PX", "REV", "STREAMS",
    "WITHSCORES", "WITHVALUES", "XX",
}  # fmt: skip

MAY_UNPACK: Final = {
    "completions/add": "no more than 16 for each name, and a client sends 100",
    "messages/parts/chat_list": "no more than OWN and LEAST together",
    "messages/parts/quiet": "no more than two for each log of a call, which are at most 64",
    "messages/parts/retention": "no more than PAGE readers",
    "queues/enqueue": "no more than two for each task, and a producer sends at most 500",
    "queues/enqueue_plain": "no more than two for each task, and a producer sends at most 500",
    "queues/emit": "no more than two for each task, and a worker sends at most 64",
    "queues/permissions": "no more than five words for each command",
    "queues/parts/append_events": "no more than 1,000 events, which is what a worker sends",
    "queues/parts/add_tasks": "no more than two for each task; a producer sends at most 500",
    "queues/parts/claims": "no more than two for each of `want`, which is at most 256",
    "queues/parts/claim_all": "no more ids than CHUNK",
    "queues/parts/take": "no more ids than CHUNK",
    "queues/parts/give_back": "no more tasks than a step settles or takes back, 64 of each",
    "queues/parts/limit_key": "no more than one for each task that a step settles or examines",
    "queues/parts/may_start": "no more ids than CHUNK",
    "queues/parts/write_keys": "no more than two for each task that a step claims or settles",
    "queues/parts/write_limits": "no more than two for each task of a step, or of SWEEP_TASKS",
    "queues/group": "no more names than the fields of a record",
    "queues/parts/group_record": "the record of a group has less than 20 fields",
    "queues/parts/member_end": "no more than a step settles (64), takes back (64), examines (528)",
    "queues/parts/history": "no more than a step settles (64), takes back (64) and examines (528)",
    "queues/parts/forget_steps": "no more than FIELDS, and than a step settles (64)",
    "queues/parts/settle": "no more than one for each settlement of a worker, which are at most 64",
    "rows/commit": "no more than one per row; a client sends at most 500",
    "rows/get_many": "no more than one per row; a client asks for at most 500",
    "rows/parts/store": "no more than two per row; a client sends at most 500",
    "rows/claim_due": "no more than two for each of `limit`, which is at most 500",
    "tallies/parts/add": "no more than VALUES_PER_COMMAND values and their counts",
}
"""`unpack` overflows the stack of Lua at some thousand values."""

MAY_LOOP: Final = {
    "queues/fire": "each turn takes at least FIELDS arguments",
    "queues/parts/take": "`room()` is 0 after LOOK_LIMIT ids at the latest",
}
"""Files with loops that have a bound outside the file."""

ALLOW_OOM: Final = {
    "cache/invalidate": "it frees memory, and a full server must not keep what is wrong",
    "cache/raise": "a number takes no more room, and a full server must not keep what is wrong",
    "cache/renew": "extends what exists; a full server must not cost the lease of a slow function",
    "completions/drop": "it frees memory",
    "completions/remove": "it frees memory",
    "core/forget": "it frees memory",
    "core/marker": "what it marks may free memory, and it leaves nothing",
    "files/abort": "it frees memory",
    "files/claim": "a consumer that reads frees memory, so it must get its next file",
    "files/end_session": "what it held goes to those who free it",
    "files/read": "it frees what was acknowledged; a position takes no more room further on",
    "files/renew": "extends what exists; a full server must not cost the leases",
    "files/retry": "who reads a file again frees its memory",
    "files/seal": "once all is read, nothing is left of what is sealed",
    "files/settle": "it frees memory",
    "idempotency/forget": "it only frees memory",
    "idempotency/release": "it frees memory",
    "idempotency/renew": "extends what exists; a full server must not cost the leases",
    "limits/reset": "it frees memory",
    "limits/settle": "it corrects what exists, and often frees what waits",
    "locks/release": "it frees a place, and a full server must not cost the next one's",
    "locks/rw_release": "it frees a place, and a full server must not cost the next one's",
    "locks/renew": "extends what exists; a full server must not cost the leases",
    "messages/ack": "it lets messages go, and a cursor takes no more room further on",
    "messages/leave": "it frees what only the one who leaves has held",
    "messages/remove_chats": "it frees memory",
    "queues/await": "a waiting caller must be notified of the end, and its channel is small",
    "queues/drop_events": "it frees memory",
    "queues/events": "a follower must hear of the end of the task, and its entry is small",
    "queues/drop_group": "it frees memory",
    "queues/cancel_group": "it frees what is not called any more",
    "queues/forget_call": "it frees memory",
    "queues/relay_ends": "it frees memory",
    "queues/cancel": "it frees a task, and keeps less of it for a while",
    "queues/leave": "it frees memory",
    "queues/pause": "a full server must let its queues be stopped",
    "queues/purge": "it frees memory",
    "queues/renew": "extends what exists; a full server must not cost the leases",
    "queues/set_schedule": "a full server must let its schedules be stopped",
    "queues/step": "settling frees memory, and a full server must let its workers do it",
    "rows/invalidate": "it frees memory, and a full server must not keep what is wrong",
    "rows/unschedule": "it frees memory",
}
"""Scripts that a full server still runs, each with why it has to."""

READ_WHOLE: Final = {
    "counters/samples": "a precision keeps 1,000 samples, in two chunks",
    "queues/throughput": "it has a field for each of 120 minutes",
    "files/claim": "a feed has no more than MAX_CONSUMERS consumers",
    "files/put": "no more than MAX_PUBLISHING files are being published",
    "files/seal": "no more than MAX_PUBLISHING files are being published",
    "files/status": "a feed has no more than MAX_CONSUMERS consumers",
}
"""Who may read a whole hash."""

SWEEPS: Final = {"core/note": "only the names of 30 days ago, each once"}
"""Who may remove a whole range of scores in one go."""


def says_what_it_is(script: LuaFile) -> Iterator[str]:
    """Check the first line, for the server, and the second one, for the reader."""
    first, *rest = [*script.header, ""]
    if not re.fullmatch(r"#!lua( flags=(no-writes|allow-oom)(,(no-writes|allow-oom))?)?", first):
        yield f"the first line must be `#!lua`, with no-writes or allow-oom; it is {first!r}"
    if not re.fullmatch(rf"-- {re.escape(script.name)}: \S.*", rest[0]):
        yield f"the second line must say `-- {script.name}: what it does`"


def header_is_complete(script: LuaFile) -> Iterator[str]:
    """KEYS and ARGV are numbered from 1, have a known type, and the reply is described."""
    for kind, entries in (("KEYS", script.keys), ("ARGV", script.arguments)):
        numbers = [entry.number for entry in entries]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"{kind} are not numbered 1, 2, 3 …: {numbers}"
    for key in script.keys:
        if key.type not in ("HASH", "LIST", "SET", "STREAM", "STRING", "ZSET"):
            yield f"KEYS[{key.number}] is of no known type: {key.type}"
    for argument in script.arguments:
        if argument.type not in ARGUMENT_TYPES:
            yield f"ARGV[{argument.number}] is of no known type: {argument.type}"
    returns = [found for found in map(RETURNS.fullmatch, script.header) if found]
    if [found[1] in RETURN_TYPES for found in returns] != [True]:
        yield f"one line must say `-- returns  {'|'.join(RETURN_TYPES)}  what`"
    if not script.keys:
        yield "it declares no key, so a cluster cannot know where to run it"


def header_is_readable(script: LuaFile) -> Iterator[str]:
    """Check that every line after `block/verb` is of a known kind, or continues one."""
    known = (KEY, ARGUMENT, RETURNS, INCLUDE, CONTINUED)
    contract = "\n".join(script.header).partition("\n--\n")[2].splitlines()
    for line in contract:
        if not any(kind.fullmatch(line) for kind in known):
            yield f"this line of the header says nothing a test can read: {line!r}"


def keys_are_those_declared(script: LuaFile) -> Iterator[str]:
    """Check that the body uses exactly the declared keys and arguments."""
    declared = {key.number for key in script.keys}
    several = [key for key in script.keys if is_first_of(key)]
    used: set[int] = set()
    for index in re.findall(r"KEYS\[(.+?)\]", code(script.whole)):
        if index.isdecimal():
            used.add(int(index))
        elif shifted := re.fullmatch(r"(\d+) \+ priority", index):
            used |= {int(shifted[1]) + i for i in range(1, PRIORITIES + 1)}
        elif re.fullmatch(r"[a-z]\w*", index) or (several and re.fullmatch(r"i \+ \d", index)):
            used |= declared  # a loop over them: only a run shows which ones
        else:
            yield f"write KEYS[n], KEYS[n + priority] or KEYS[i], not KEYS[{index}]"
    for first in re.findall(r"KEYS(?!\[)(?:, (FIRST_\w+))?", code(script.whole)):
        if (
            not several
            or not first
            or f"local {first} = {several[-1].number}\n" not in script.source
        ):
            yield "KEYS is used as a whole: say where the list begins, `KEYS, FIRST_…`"
        used |= {key.number for key in several[-1:]}
    yield from _differences("KEYS", declared, used)


def is_first_of(entry: Entry) -> bool:
    """Return whether a line of a header begins a list."""
    return "first of" in entry.text


def arguments_are_those_declared(script: LuaFile) -> Iterator[str]:
    """Check the arguments, too. An open list is the last one declared, as `first of …`."""
    declared = {argument.number for argument in script.arguments}
    indices = re.findall(r"ARGV\[(.+?)\]", code(script.whole))
    used = {int(index) for index in indices if index.isdecimal()}
    open_list = [argument for argument in script.arguments if argument.text.startswith("first of")]
    loops = [index for index in indices if not index.isdecimal()]
    loops += re.findall(r"\bARGV, (FIRST)\b", code(script.whole))
    if loops or open_list:
        first = re.search(r"^local FIRST = (\d+)$", script.whole, re.MULTILINE)
        if [entry.number for entry in open_list] != [len(declared)] or not loops:
            yield "a list of arguments must be declared last, as `first of …`, and be used"
        elif first is None or int(first[1]) != len(declared):
            yield f"the list begins at ARGV[{len(declared)}]: write `local FIRST = {len(declared)}`"
        used.add(len(declared))
    for index in loops:
        if not re.fullmatch(r"i( \+ \d)?|FIRST", index):
            yield f"write ARGV[n], ARGV[i] or ARGV[i + n], not ARGV[{index}]"
    yield from _differences("ARGV", declared, used)


def _differences(kind: str, declared: set[int], used: set[int]) -> Iterator[str]:
    yield from (f"{kind}[{n}] is used and not declared" for n in sorted(used - declared))
    yield from (f"{kind}[{n}] is declared and not used" for n in sorted(declared - used))


def names_are_those_of_the_header(script: LuaFile) -> Iterator[str]:
    """Check that local variables for keys and arguments have the names of the header."""
    entries = {f"KEYS[{key.number}]": key.name for key in script.keys}
    entries |= {f"ARGV[{argument.number}]": argument.name for argument in script.arguments}
    for variable, value in _aliases(script):
        wanted = [entries.get(each, "") for each in value]
        if not all(name.partition("_")[0] == variable or name == variable for name in wanted):
            yield f"{variable} stands for {', '.join(value)}, which the header calls {wanted}"


def _aliases(script: LuaFile) -> Iterator[tuple[str, list[str]]]:
    """Variables and the KEYS or ARGV that they stand for."""
    field = r"\b(\w+) = (KEYS\[\d+\]|\{KEYS\[\d+\](?:, KEYS\[\d+\])*\})"
    for line in code(script.source).splitlines():
        if not re.match(r"local [\w, ]+ = [^{]", line):
            for name, value in re.findall(field, line):
                yield name, value.strip("{}").split(", ")
    for names, values in re.findall(r"^local ([\w, ]+) = (.+)$", code(script.whole), re.MULTILINE):
        if table := re.fullmatch(r"\{(KEYS\[\d+\](?:, KEYS\[\d+\])*)\}", values.strip()):
            yield names, table[1].split(", ")
            continue
        for name, value in zip(names.split(", "), values.strip().split(", "), strict=False):
            if found := re.fullmatch(r"(?:tonumber\()?((?:KEYS|ARGV)\[\d+\])\)?", value):
                yield name, [found[1]]


def commands_fit_their_keys(script: LuaFile) -> Iterator[str]:
    """Check that commands have bounded cost, and keys come from KEYS with the right type."""
    types = {f"KEYS[{key.number}]": key.type for key in script.keys}
    for variable, values in _aliases(script):
        if values[0] in types:
            types[variable] = types[values[0]]
    types |= {name: kind for name, kind in described(script.keys).items() if name not in types}
    for word in words(script.whole):
        if word not in {*READS, *WRITES, *KEYLESS, *OPTIONS}:
            yield f"{word} is not among the commands of bounded cost in {__name__}"
    for command, *arguments in calls(script.whole):
        name = command.strip("'")
        if name in KEYLESS or name in SEVERAL_KEYS:
            continue
        if not arguments:
            yield f"{name} has no key"
            continue
        key = arguments[0]
        if not re.fullmatch(r"KEYS\[[^\]]+\]|[a-z]\w*(\.\w+|\[[\w.]+\])*(\(\w+\))?", key):
            yield f"{name} takes a key that is not from KEYS: {key}"
        wanted = (READS | WRITES).get(name, "")
        actual = types.get(key) or types.get(last_name(key), "")
        if wanted and actual and wanted != actual:
            yield f"{name} wants a {wanted}, but {key} is declared as {actual}"
        yield from _unbounded(script, name, arguments)


def _unbounded(script: LuaFile, command: str, arguments: list[str]) -> Iterator[str]:
    """Return whether a range may be as long as its key."""
    if command == "ZRANGE":
        by_value = {"'BYSCORE'", "'BYLEX'"} & set(arguments)
        if (by_value and "'LIMIT'" not in arguments) or arguments[2].strip("'") == "-1":
            yield f"ZRANGE {', '.join(arguments)} may be as long as its key: give it a limit"
    if command == "ZREMRANGEBYSCORE" and script.name not in SWEEPS:
        yield "ZREMRANGEBYSCORE removes any number at once: take them in steps, or say why here"
    if command == "HGETALL" and script.name not in READ_WHOLE:
        yield "HGETALL may be as long as its key: take what is needed, or say why here"
    if command == "HRANDFIELD" and not (arguments[1:2] and arguments[1].isdecimal()):
        yield f"HRANDFIELD {', '.join(arguments)} may be as long as its key: draw a few"
    if command in ("XRANGE", "XREVRANGE") and "'COUNT'" not in arguments:
        yield f"{command} {', '.join(arguments)} may be as long as its key: give it a COUNT"
    if command == "XTRIM" and "'~'" not in arguments:
        yield "XTRIM to the entry may take long: with ~ it takes whole blocks, a bounded number"
    if command == "LRANGE" and arguments[2].strip("'") == "-1":
        yield f"LRANGE {', '.join(arguments)} may be as long as its key: give it a limit"


def flags_keep_their_word(script: LuaFile) -> Iterator[str]:
    """Check the flags: reading scripts are marked, and few may run when memory is full."""
    writes = bool(set(WRITES) & set(words(script.whole)))
    if ("no-writes" in script.header[0]) is writes:
        yield "it changes something" if writes else "it changes nothing, so flag it no-writes"
    if ("allow-oom" in script.header[0]) is not (script.name in ALLOW_OOM):
        yield f"allow-oom is for those that {__name__} names, with a reason"


def time_comes_from_the_clock(file: LuaFile) -> Iterator[str]:
    """Check that only the part `clock` reads the time, once per step."""
    if "TIME" in words(file.source) and file.name != "core/parts/clock":
        yield "only the part `clock` asks for the TIME: include it"


def loops_are_bounded(file: LuaFile) -> Iterator[str]:
    """Check that loops are bounded, and that `unpack` takes few values."""
    for loop in re.findall(r"\b(?:while|repeat)\b.*", unquoted(file.source)):
        counts = re.fullmatch(r"while #\w+ < \w+( and \w+ < \w+)? do", loop.strip())
        if not counts and file.name not in MAY_LOOP:
            yield f"nothing bounds this loop: {loop}"
    unpacks = re.search(r"(?<!cmsgpack\.)(?<!struct\.)\bunpack\(", unquoted(file.source))
    if unpacks and file.name not in MAY_UNPACK:
        yield "unpack overflows on long lists: say in this file what bounds it"


def notifications_are_hints(file: LuaFile) -> Iterator[str]:
    """Check that a refused SPUBLISH (ACL) does not stop a step."""
    if "redis.call('SPUBLISH'" in code(file.source):
        yield "SPUBLISH may be refused: notify with redis.pcall"


def is_short(file: LuaFile) -> Iterator[str]:
    """Check that a script fits on a screen."""
    limit = MAX_PART_LINES if file.folder.name == "parts" else MAX_SCRIPT_LINES
    if len(file.body) > limit:
        yield f"its body takes {len(file.body)} lines, the limit is {limit}"


def has_few_locals(script: LuaFile) -> Iterator[str]:
    """Check that the server can compile a script with its parts."""
    functions = re.findall(r"^local function ", script.whole, re.MULTILINE)
    names = re.findall(r"^local (?!function )([\w, ]+?)(?: =|$)", script.whole, re.MULTILINE)
    count = len(functions) + sum(len(each.split(",")) for each in names)
    if count > MAX_LOCALS:
        yield f"it has {count} local variables with its parts, the limit is {MAX_LOCALS}"


def includes_are_in_order(script: LuaFile) -> Iterator[str]:
    """Check that each part exists, is included once, and finds the parts that it needs."""
    if len(set(script.includes)) != len(script.includes):
        yield "a part is included twice"
    text = ""
    for line in script.source.splitlines():
        include = INCLUDE.fullmatch(line)
        if include is None:
            text += line + "\n"
            continue
        part = script.part(include[1])
        there = Names.of(text).defined | set(script.includes[: script.includes.index(include[1])])
        missing = [name for name in part.expects if name not in there]
        if missing:
            yield f"the part {include[1]} expects {', '.join(missing)} before it"
        text += part.source


def every_name_is_defined(script: LuaFile) -> Iterator[str]:
    """Check for undefined names: the server would raise an error only at run time."""
    lines = [line for line in script.source.splitlines() if not INCLUDE.fullmatch(line)]
    given = {name for part in script.includes for name in script.part(part).defines}
    for name in sorted(Names.of("\n".join(lines)).free - given):
        yield f"{name} is used and not defined before"


def part_says_what_it_expects(part: LuaFile) -> Iterator[str]:
    """Check that a part uses only its own names, and those of the parts that it needs."""
    given = {name for below in part.expects for name in part.part(below).defines}
    for name in sorted(Names.of(part.source).free - given):
        yield f"it uses {name}: take it as a parameter, or expect the part that defines it"
    if part.includes:
        yield "a part cannot include others: the script does, in order"


def part_only_defines(part: LuaFile) -> Iterator[str]:
    """Check that a part only defines functions and constants: including it runs nothing."""
    for line in part.top_level:
        constant = CONSTANT.fullmatch(line)
        is_plain = constant and not re.search(r"[a-z_(]", unquoted(constant[2]))
        if not FUNCTION.fullmatch(line) and not is_plain:
            yield f"outside of functions there are only constants, not: {line}"
    for name in sorted(set(re.findall(r"\b(?:KEYS|ARGV)\b", code(part.source)))):
        yield f"{name} belongs to the script: take what is needed as a parameter"


SCRIPT_RULES: Final = (
    says_what_it_is,
    header_is_complete,
    header_is_readable,
    keys_are_those_declared,
    arguments_are_those_declared,
    names_are_those_of_the_header,
    commands_fit_their_keys,
    flags_keep_their_word,
    has_few_locals,
    includes_are_in_order,
    every_name_is_defined,
)
PART_RULES: Final = (part_says_what_it_expects, part_only_defines)
FILE_RULES: Final = (
    time_comes_from_the_clock,
    loops_are_bounded,
    notifications_are_hints,
    is_short,
)


def described(entries: list[Entry]) -> dict[str, str]:
    """Type by name of the declared keys, without the priority, or the parity, at the end."""
    return {re.sub(r"_[hmleo]$", "", entry.name): entry.type for entry in entries}
