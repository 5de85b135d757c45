"""A history survives its process being killed, and many writers at once."""

import threading
from pathlib import Path

import pytest

from faults.history import Recorder, read
from faults.processes import Process

WRITER = """
import itertools, sys
from faults.history import Recorder
with Recorder(sys.argv[1]) as recorder:
    for number in itertools.count():
        with recorder.operation("count", key="numbers") as op:
            op.result = number
            if number == 100:
                print("going", flush=True)
"""


def test_an_operation_keeps_what_was_asked_and_answered(tmp_path: Path) -> None:
    with (
        Recorder(tmp_path / "worker.jsonl") as recorder,
        recorder.operation("acquire", key="lock", holder="a") as op,
    ):
        op.result = 17
        op.note(until_ns=5)

    (operation,) = read([tmp_path / "worker.jsonl"])
    assert (operation.kind, operation.key, operation.value) == ("acquire", "lock", 17)
    assert operation.fields == {"holder": "a", "until_ns": 5}
    assert operation.outcome == "ok"
    assert operation.process == recorder.process
    assert operation.return_ns is not None
    assert operation.invoke_ns <= operation.return_ns
    assert "acquire lock holder='a' until_ns=5 -> 17" in str(operation)


def test_exceptions_decide_the_outcome_and_pass(tmp_path: Path) -> None:
    with Recorder(tmp_path / "one.jsonl", failures=(ConnectionRefusedError,)) as recorder:
        for error in (ConnectionRefusedError, ConnectionResetError):
            with pytest.raises(error), recorder.operation("write"):
                raise error
        with recorder.operation("write") as op:
            op.fail()
        with recorder.operation("write") as op:
            op.unknown()
    outcomes = [operation.outcome for operation in read([tmp_path / "one.jsonl"])]
    assert outcomes == ["fail", "unknown", "fail", "unknown"]


def test_the_files_of_a_killed_process_can_be_read_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "worker.jsonl"
    with Process.python("-c", WRITER, path, name="writer") as writer:
        writer.wait_for_output("going")
        writer.kill()

        counted = [operation for operation in read([path]) if operation.outcome == "ok"]
        assert [operation.value for operation in counted] == list(range(len(counted)))
        assert len(counted) >= 100

        first_pid = writer.pid
        writer.start()
        writer.wait_for_output("going\ngoing")
        assert writer.pid != first_pid
    assert len({operation.process for operation in read([path])}) == 2


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_an_operation_without_a_return_is_unknown(tmp_path: Path, kept: float) -> None:
    """The last line is torn, as if by a power cut; the next run goes on behind it."""
    path = tmp_path / "one.jsonl"
    with Recorder(path) as recorder, recorder.operation("write", key="k"):
        pass
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[: int(len(second) * kept)])

    (operation,) = read([path])
    assert (operation.outcome, operation.return_ns) == ("unknown", None)
    with Recorder(path) as later:
        later.process = "later:1"
        with later.operation("write"):
            pass
    assert [operation.outcome for operation in read([path])] == ["unknown", "ok"]


def test_damage_in_the_middle_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    with Recorder(path) as recorder, recorder.operation("write"):
        pass
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b'{"process\n' + second)
    with pytest.raises(ValueError, match="damaged before line 3"):
        read([path])


def test_threads_share_a_recorder(tmp_path: Path) -> None:
    def work() -> None:
        for number in range(200):
            with recorder.operation("work") as op:
                op.result = number

    with Recorder(tmp_path / "one.jsonl") as recorder:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    operations = read([tmp_path / "one.jsonl"])
    assert len({operation.op for operation in operations}) == 800
    assert [operation.invoke_ns for operation in operations] == sorted(
        operation.invoke_ns for operation in operations
    )
