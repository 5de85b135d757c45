"""What an error reply of the server stands for."""

import pytest

from holdfast.core.transport.outcome import Busy, ErrorReply, Moved, Outcome, outcome_of

ASKED = ("asked", 7000)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("MOVED 12 b:7001", Moved(12, ("b", 7001), ask=False)),
        ("ASK 12 ::1:7001", Moved(12, ("::1", 7001), ask=True)),
        ("MOVED 12 :7001", Moved(12, ("asked", 7001), ask=False)),
        ("MOVED 12 ?:7001", Moved(12, ("asked", 7001), ask=False)),
    ],
)
def test_a_redirection_names_the_node(text: str, outcome: Outcome) -> None:
    """A node that does not know the name of another means its own."""
    assert outcome_of(ErrorReply(text), ASKED) == outcome


@pytest.mark.parametrize("text", ["MOVED", "MOVED 12", "MOVED 12 b", "MOVED x b:7001", "ASK 1 b:"])
def test_a_redirection_without_a_node_is_not_now(text: str) -> None:
    assert outcome_of(ErrorReply(text), ASKED) == Busy(text)
