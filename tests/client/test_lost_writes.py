"""A write with an unknown outcome counts once, however it is repeated."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from client.writes import ANY, WRITES, Write
from faults.fixtures import LOST, REPEATED
from faults.servers import Server
from holdfast import Holdfast, OutcomeUnknown, Replicated
from holdfast.core.script import Script


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """Open a client that does not use the proxy."""
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        yield hf


@pytest.fixture(params=WRITES)
def write(request: pytest.FixtureRequest, direct: Holdfast) -> Write:
    """Return a write, with its preparations done."""
    write = WRITES[request.param]
    if write.prepare is not None:
        write.prepare(direct)
    assert write.look(direct) == write.states[0]
    return write


@pytest.mark.sampled(3)
@pytest.mark.parametrize("repeated", REPEATED)
@pytest.mark.parametrize("fault", LOST)
def test_a_lost_write_counts_once(
    lose: Any, direct: Holdfast, write: Write, fault: str, repeated: str
) -> None:
    package, _, verb = write.script.partition("/")
    script = Script.load(f"holdfast.{package}", verb)
    repeat = lose(fault, script, direct.namespace, write.do)
    applied = fault == "drop_reply"
    assert write.look(direct) == write.states[applied]
    expected = write.states[1]
    if applied and write.undo is not None:
        write.undo(direct)
        expected = write.states[2]
    for how in (repeated, *REPEATED):
        assert write.answer in (ANY, repeat(how))
        assert write.look(direct) == expected


def test_a_write_that_no_replica_confirms_counts_once(
    standalone: Server, direct: Holdfast, write: Write
) -> None:
    durability = Replicated(1, timeout=0.01)
    with Holdfast.from_url(
        standalone.url, namespace=direct.namespace, durability=durability
    ) as durable:
        with pytest.raises(OutcomeUnknown, match="0 of 1 replicas") as caught:
            write.do(durable)
        assert write.look(direct) == write.states[1]
        with pytest.raises(OutcomeUnknown, match="0 of 1 replicas") as again:
            caught.value.repeat()
    assert caught.value.op_id == again.value.op_id
    write.do(direct, op_id=caught.value.op_id)
    assert write.look(direct) == write.states[1]
