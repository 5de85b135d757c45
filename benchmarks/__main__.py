"""`python -m benchmarks [NAMES…]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Final

from . import call_parts, call_telemetry, calls, durable, idempotency, idle, imports
from .cache import parts as cache
from .completions import parts as completions
from .counters import parts as counters
from .files import parts as files
from .goals import with_goals
from .harness import MEDIAN_ROUNDS, BenchmarkRun
from .leases import lineup as leases_lineup
from .leases import parts as leases
from .limits import parts as limits
from .loops import use_uvloop
from .messages import parts as messages
from .mixed import run as mixed
from .queues import lineup as queues_lineup
from .queues import parts as queues
from .report import Table
from .rows import parts as rows
from .scale import parts as scale
from .server import Server, serving
from .speed import keep
from .tallies import parts as tallies

BENCHMARKS: Final[dict[str, Callable[[BenchmarkRun], Iterator[Table]]]] = {
    "calls": calls.run,
    "calls:parts": call_parts.run,
    "calls:telemetry": call_telemetry.run,
    "durable": durable.run,
    "idle": idle.run,
    "imports": imports.run,
    "queue": queues.run,
    **{f"queue:{name}": part for name, part in queues.PARTS.items()},
    "leases": leases.run,
    **{f"leases:{name}": part for name, part in leases.PARTS.items()},
    "messages": messages.run,
    **{f"messages:{name}": part for name, part in messages.PARTS.items()},
    "cache": cache.run,
    **{f"cache:{name}": part for name, part in cache.PARTS.items()},
    "rows": rows.run,
    **{f"rows:{name}": part for name, part in rows.PARTS.items()},
    "completions": completions.run,
    **{f"completions:{name}": part for name, part in completions.PARTS.items()},
    "counters": counters.run,
    **{f"counters:{name}": part for name, part in counters.PARTS.items()},
    "limits": limits.run,
    **{f"limits:{name}": part for name, part in limits.PARTS.items()},
    "idempotency": idempotency.run,
    "files": files.run,
    **{f"files:{name}": part for name, part in files.PARTS.items()},
    "tallies": tallies.run,
    **{f"tallies:{name}": part for name, part in tallies.PARTS.items()},
    "mixed": mixed.run,
    "scale": scale.run,
    **{f"scale:{name}": part for name, part in scale.PARTS.items()},
}
ALL: Final = (
    "calls",
    "calls:parts",
    "calls:telemetry",
    "durable",
    "idle",
    "imports",
    "queue",
    "leases",
    "messages",
    "completions",
    "counters",
    "limits",
    "idempotency",
    "cache",
    "rows",
    "files",
    "tallies",
    "mixed",
    "scale",
)

RIVALS: Final = frozenset({*queues_lineup.PACKAGES, *leases_lineup.PACKAGES})

PACKAGES: Final = ("holdfast", "redis", "hiredis", *(["uvloop"] if find_spec("uvloop") else []))
"""Packages with versions that are printed."""

ROUNDS: Final = 31
QUICK_ROUNDS: Final = 5


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chosen benchmarks, and print what they found as they find it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.keep and options.quick:
        parser.error("a quick look is not worth keeping: leave out --quick or --keep")
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    if options.keep and rounds < MEDIAN_ROUNDS:
        parser.error(f"--keep needs at least {MEDIAN_ROUNDS} rounds, for medians")
    use_uvloop()
    found: dict[str, list[dict[str, object]]] = {}
    with serving() as server:
        if options.pin:
            _pin(server)
        about = _about(server)
        if not options.json:
            print(about, flush=True)
        bench = BenchmarkRun(
            server, rounds, options.quick, _rivals(options), options.limit, options.largest
        )
        for name in options.names or ALL:
            tables = found.setdefault(name, [])
            for measured in BENCHMARKS[name](bench):
                table = with_goals(name, measured)
                tables.append(table.plain())
                if not options.json:
                    print(f"\n{table}", flush=True)
                if options.keep:
                    keep(name, about, table)
    if options.json:
        json.dump({"about": about, "benchmarks": found}, sys.stdout, indent=2)
        print()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        type=_known,
        metavar="NAME",
        help=", ".join(BENCHMARKS) + "; default " + ", ".join(ALL),
    )
    parser.add_argument(
        "--rivals",
        type=_known_rivals,
        metavar="NAMES",
        help=f"libraries to compare with, of {','.join(sorted(RIVALS))}, all or none; installed "
        "when they are first needed; default all if benchmarks are named, else none",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="given to each task queue to recover from a killed worker; 60",
    )
    parser.add_argument(
        "--rounds", type=_positive, help=f"of each case; {ROUNDS}, or {QUICK_ROUNDS} if quick"
    )
    parser.add_argument(
        "--pin", action="store_true", help="server and client on a CPU of their own each (Linux)"
    )
    parser.add_argument(
        "--largest",
        type=_positive,
        default=1_000_000,
        metavar="N",
        help="of the sizes of scale:flat: 10_000_000 takes hours and gigabytes; 1,000,000",
    )
    parser.add_argument("--quick", action="store_true", help="less work, for a look")
    parser.add_argument(
        "--keep", action="store_true", help="write docs/speed.md and the table of the README"
    )
    parser.add_argument("--json", action="store_true", help="print JSON only")
    return parser


def _known(name: str) -> str:
    if name not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"no {name!r} among {', '.join(BENCHMARKS)}")
    return name


def _known_rivals(text: str) -> frozenset[str]:
    names = {"all": RIVALS, "none": frozenset[str]()}.get(text, frozenset(text.split(",")))
    if unknown := names - RIVALS:
        raise argparse.ArgumentTypeError(f"no rivals: {', '.join(sorted(unknown))}")
    return names


def _rivals(options: argparse.Namespace) -> frozenset[str]:
    """Return the rivals that take part; without names, only those that need no network."""
    if options.rivals is not None:
        return frozenset(options.rivals)
    return RIVALS if options.names else frozenset()


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {value}")
    return value


def _pin(server: Server) -> None:
    """Keep the server on the first CPU that we may use, and all that we start on the last."""
    if sys.platform != "linux":
        raise SystemExit("--pin needs Linux")
    usable = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(server.pid, usable[:1])
    os.sched_setaffinity(0, usable[-1:])


def _about(server: Server) -> str:
    """Describe in one line on what the run was measured."""
    load = f"{os.getloadavg()[0]:.1f}"
    libraries = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{libraries}; Python {platform.python_version()}; {server.version()}; "
        f"{os.cpu_count()} CPUs, load {load}"
    )


if __name__ == "__main__":
    main()
