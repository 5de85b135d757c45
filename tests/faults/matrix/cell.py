"""Plays one cell: a workload, a nemesis, calm, a result."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest

from faults.history import Operation
from faults.matrix.cell_result import CellResult, Violation, counted
from faults.matrix.nemeses import FAULTS, Fault
from faults.matrix.recovery import late
from faults.matrix.scene import Scene
from faults.matrix.table import Cell
from faults.matrix.workloads import WORKLOADS, Workload
from faults.matrix.workloads.base import STORMS
from faults.nemesis import Nemesis
from faults.nursery import ForkServer
from faults.stubborn import insist
from faults.waiting import eventually

MODULES = sorted({each.module for each in WORKLOADS.values()})
"""What the fork server of the matrix imports."""

WARM_S = 60.0
RECOVERY_S = 60.0
"""A guard against hanging; what is measured has bounds of its own (`faults.matrix.recovery`)."""

LOSS_S = 3.0
"""What is lost in a bounded cell was acknowledged so long before the first strike at most."""

CRASH = "Traceback (most recent call last)"
SHOWN = 8
NS = 1e9


def play(cell: Cell, *, seed: int, folder: Path, fork_server: ForkServer) -> CellResult:
    """Play it, and say what came of it. The word of the result is "held", or what is wrong."""
    result = CellResult(cell.fault, cell.block, cell.mark, seed)
    fault = FAULTS[cell.fault]
    with fault.topology(folder) as scene:
        if fault.needs and not scene.knows(fault.needs):
            pytest.skip(f"this server has no {fault.needs}")
        result.when = f"{datetime.now(UTC):%Y-%m-%d}"
        result.server = version(scene)
        workload = WORKLOADS[cell.block](scene, fork_server, seed, fault.how)
        workload.lossy, workload.alone = fault.lossy, fault.alone
        workload.refuses_events = fault.refuses_events
        try:
            violations, began_ns = _played(workload, fault, seed, result)
        except AssertionError as error:
            result.word = f"broken: {error}"
            return result
        finally:
            for actor in scene.actors:
                actor.resume()
                actor.kill()
    result.violations = counted(violations)
    result.seen = [f"{each.kind}: {each.text}" for each in violations[:SHOWN]]
    result.word = judged(cell, violations, began_ns)
    if result.word == "held":
        result.word = late(result) or "held"
    return result


def _played(
    workload: Workload, fault: Fault, seed: int, result: CellResult
) -> tuple[list[Violation], int]:
    scene, printed = workload.scene, len(workload.fork_server.output)
    workload.begin()
    _all_done_since(workload, 0, WARM_S)
    began_ns = time.monotonic_ns()
    result.strikes, calm_ns = _struck(fault, scene, seed)
    result.recovered_s = _all_done_since(workload, calm_ns, RECOVERY_S)
    workload.end()
    history = workload.history()
    result.longest_s = scene.longest_s or workload.longest_s(history)
    result.operations = len(history)
    result.unknown = sum(op.outcome == "unknown" or "unknown" in op.fields for op in history)
    result.repeated = workload.repeated(history)
    if not fault.actions:  # the clients were the fault
        result.strikes = result.unknown if STORMS & fault.how.keys() else result.operations
        assert result.strikes, "the fault did not happen"
    printed_now = workload.fork_server.output[printed:]
    crash = printed_now[printed_now.find(CRASH) :][:2000] if CRASH in printed_now else ""
    crashes = [Violation("astray", f"a client failed: {crash}")] if crash else []
    unsound = insist(lambda: audited(workload))
    return crashes + unsound + insist(lambda: workload.judge(history)), began_ns


def audited(workload: Workload) -> list[Violation]:
    """Return what `holdfast fsck` finds in the server at the end."""
    with workload.open() as hf:
        damages = hf.audit().damages
    return [Violation("astray", f"{each.key}: {each.what}") for each in damages]


def _struck(fault: Fault, scene: Scene, seed: int) -> tuple[int, int]:
    """Do what the fault is; how often it was done, and when all could be well again."""
    if not fault.actions:
        time.sleep(fault.trouble_s)
        return 0, time.monotonic_ns()
    nemesis = Nemesis(
        seed,
        fault.victims(scene),
        actions=fault.actions,
        every=fault.every,
        lasting=fault.lasting,
    )
    with nemesis:
        time.sleep(fault.trouble_s)
        eventually(lambda: nemesis.log, reason="the fault happens")
    fault.heal(scene)
    return len(nemesis.log), scene.calm_ns or nemesis.calm_ns


def _all_done_since(workload: Workload, since_ns: int, timeout: float) -> float:
    """Wait until each kind of operation was begun and done since then; seconds that it took."""

    def missing() -> set[str]:
        done = _firsts(workload.history(), since_ns)
        return set(workload.kinds - done.keys())

    deadline_s = time.monotonic() + timeout
    while left := missing():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"no {', '.join(sorted(left))} within {timeout} s")
        time.sleep(0.05)
    firsts = _firsts(workload.history(), since_ns)
    return max(firsts[kind] - since_ns for kind in workload.kinds) / NS


def _firsts(history: Sequence[Operation], since_ns: int) -> dict[str, int]:
    """Return when each kind of operation that began since then first returned."""
    firsts: dict[str, int] = {}
    for op in history:
        if op.outcome == "ok" and op.invoke_ns >= since_ns and op.return_ns is not None:
            firsts[op.kind] = min(firsts.get(op.kind, op.return_ns), op.return_ns)
    return firsts


def judged(cell: Cell, violations: Sequence[Violation], began_ns: int) -> str:
    """ "held", or what is wrong with these violations in this cell."""
    wrong = [each for each in violations if each.kind not in cell.allows]
    if cell.mark == "B":
        earliest_ns = began_ns - LOSS_S * NS
        wrong += [each for each in violations if (each.at_ns or began_ns) < earliest_ns]
    if wrong:
        return "broken: " + "; ".join(f"{each.kind}: {each.text}" for each in wrong[:SHOWN])
    if cell.shows and not violations:
        return f"toothless: none of {', '.join(sorted(cell.allows))} was seen"
    return "held"


def version(scene: Scene) -> str:
    """Return the version of the server."""
    client = scene.client()
    with client if scene.cluster is None else nullcontext():
        info = client.info("server")
    info = info if "redis_version" in info else next(iter(info.values()))
    name = info.get("server_name", "redis")
    return f"{name} {info.get(f'{name}_version', info['redis_version'])}"
