"""A reply that is lost leaves nothing half done, and nothing twice."""

import secrets

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import Holdfast, OutcomeUnknown
from holdfast.completions._sync import ADD, REMOVE
from holdfast.completions.recent._sync import DROP, TOUCH


@pytest.fixture
def pair(standalone: Server, proxy: Proxy):  # type: ignore[no-untyped-def]
    namespace = secrets.token_hex(4)
    with (
        Holdfast.from_url(f"{proxy.url}?socket_timeout=30", namespace=namespace) as far,
        Holdfast.from_url(standalone.url, namespace=namespace) as near,
    ):
        # A server that does not know a script yet says so first: that reply would be the lost one.
        near.completions("warm").add("x")
        near.completions("warm").remove("x")
        near.recent("warm").touch("x")
        near.recent("warm").remove("x")
        yield far, near


def test_an_add_that_is_repeated_late_does_not_undo_a_removal(pair, proxy: Proxy) -> None:
    far, near = pair
    proxy.drop_reply(match=ADD.sha1.encode())
    with pytest.raises(OutcomeUnknown) as lost:
        far.completions("g").add("jeff")
    assert near.completions("g").has("jeff")
    near.completions("g").remove("jeff")
    assert lost.value.repeat() is True
    assert not near.completions("g").has("jeff")


def test_a_removal_that_is_repeated_says_what_it_did(pair, proxy: Proxy) -> None:
    far, near = pair
    near.completions("g").add("jeff")
    proxy.drop_reply(match=REMOVE.sha1.encode())
    with pytest.raises(OutcomeUnknown) as lost:
        far.completions("g").remove("jeff")
    near.completions("g").add("jeff")
    assert lost.value.repeat() == 1
    assert near.completions("g").has("jeff")


def test_a_touch_and_a_drop(pair, proxy: Proxy) -> None:
    far, near = pair
    proxy.drop_reply(match=TOUCH.sha1.encode())
    with pytest.raises(OutcomeUnknown) as lost:
        far.recent("p").touch("jill")
    near.recent("p").touch("jack")
    lost.value.repeat()
    assert near.recent("p").all() == ["jack", "jill"]
    proxy.drop_reply(match=DROP.sha1.encode())
    with pytest.raises(OutcomeUnknown) as lost:
        far.recent("p").remove("jill")
    assert lost.value.repeat() is True
    assert near.recent("p").all() == ["jack"]


def test_adding_many_asks_again_by_itself(pair, proxy: Proxy) -> None:
    far, near = pair
    proxy.drop_reply(match=ADD.sha1.encode())
    assert far.completions("g").add_many(f"n{i}" for i in range(250)) == 250
    assert near.completions("g").count() == 250
