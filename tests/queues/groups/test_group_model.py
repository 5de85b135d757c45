"""A group counts its members as a model does, in whatever order their ends arrive."""

import secrets
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faults.servers import Server
from holdfast import GROUP_ID, Holdfast
from holdfast.queues.groups.work import MemberEnd
from queues.groups.group_tasks import OTHER, alarm, double, report

MEMBERS = 4

LIVES = st.lists(
    st.sampled_from(
        [
            *("done", "dead", "cancelled", "dead waiting done", "dead waiting cancelled"),
            *("dead waiting dead", "dead waiting dead waiting done"),
        ]
    ).map(str.split),
    min_size=MEMBERS,
    max_size=MEMBERS,
)
"""What becomes of each member, in order: each state has a later version than the one before."""

ARRIVALS = st.lists(st.lists(st.tuples(st.integers(0, MEMBERS - 1), st.integers(0, 4)), max_size=4))
"""What arrives together: members, and which of their states. Some arrive late, or again."""


class Model:
    """Keep the latest known state of each member, and nothing else.

    Args:
        max_failures: as in `Group`.

    Attributes:
        known: member → version and state.
        called: the callbacks that were called.
    """

    def __init__(self, max_failures: int) -> None:
        self.known: dict[int, tuple[int, str]] = {}
        self.called: set[str] = set()
        self.state = "running"
        self._max_failures = max_failures

    @property
    def counts(self) -> Counter[str]:
        """Return how many members are known to be in which state."""
        return Counter(state for _, state in self.known.values() if state != "waiting")

    def arrive(self, member: int, version: int, state: str) -> None:
        """Take what is new."""
        if version > self.known.get(member, (-1, ""))[0]:
            self.known[member] = version, state

    def decide(self) -> None:
        """Call what is due. A group that is done stays so."""
        counts = self.counts
        failures = counts["dead"] + counts["cancelled"]
        if self.state == "done":
            return
        if failures > self._max_failures:
            self.state = "failed"
            self.called.add("failure")
        elif counts.total() == MEMBERS:
            self.state = "done"
            self.called.add("then")
        else:
            self.state = "running"


@pytest.fixture(scope="module")
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=f"model-{secrets.token_hex(4)}") as hf:
        yield hf


@settings(max_examples=25, suppress_health_check=list(HealthCheck), database=None)
@given(lives=LIVES, arrivals=ARRIVALS, max_failures=st.integers(0, 2))
def test_a_group_counts_as_the_model_does(
    hf: Holdfast,
    lives: list[list[str]],
    arrivals: list[list[tuple[int, int]]],
    max_failures: int,
) -> None:
    callbacks = {"then": report.call(1), "on_failure": alarm.call(GROUP_ID)}
    members = [double.call(n).options(delay=3600.0) for n in range(MEMBERS)]
    handle = hf.enqueue_group(members, **callbacks, max_failures=max_failures)
    model, group_id = Model(max_failures), handle.group_id
    last = [(member, len(life) - 1) for member, life in enumerate(lives)]
    for together in [*arrivals, last]:
        ends = []
        for member, step in together:
            state = lives[member][step % len(lives[member])]
            version = step % len(lives[member])
            ends.append(MemberEnd(str(member), version, state, b"=1"))
            model.arrive(member, version, state)
        model.decide()
        hf._resources.groups.count(group_id, ends)
        status = handle.status()
        assert (status.state, status.done, status.dead, status.cancelled) == (
            model.state,
            *(model.counts[state] for state in ("done", "dead", "cancelled")),
        )
        states = {"then": status.then, "failure": status.on_failure}
        assert {name for name, state in states.items() if state == "called"} == model.called
    found = Counter(task.task_id for task in hf.queue(OTHER).tasks("queued", 1000))
    of_group = {task_id: n for task_id, n in found.items() if task_id.startswith(f"{group_id}/")}
    assert of_group == {f"{group_id}/{name}": 1 for name in model.called}
    hf.queue(OTHER).purge()
