# Generated from test_idempotency_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Calls under an idempotency key: one begins, and later ones get its answer."""

from datetime import timedelta

import pytest

from conftest import Site
from holdfast import Holdfast, PayloadTooLarge, ServerUnavailable
from holdfast.core.concurrency._sync.primitives import sleep
from holdfast.idempotency._sync.call import MAX_ANSWER_BYTES

BODY = b'{"amount": 5}'


def test_the_first_begins_and_later_ones_get_its_answer(hf: Holdfast) -> None:
    store = hf.idempotency("payments")
    first = store.begin("order-17", BODY, user="ann")
    assert (first.state, first.answer) == ("begun", None)
    second = store.begin("order-17", BODY, user="ann")
    assert (second.state, second.answer) == ("running", None)
    assert 0 < second.free_in <= 60
    assert first.finish(b"paid")
    third = store.begin("order-17", BODY, user="ann")
    assert (third.state, third.answer) == ("done", b"paid")
    assert 86_000 < third.free_in <= 86_400
    assert hf.idempotency_stores() == ["payments"]
    assert (hf.audit()).damages == ()


def test_another_fingerprint_is_a_conflict(hf: Holdfast) -> None:
    """Whether the first call still runs or has its answer."""
    store = hf.idempotency("payments")
    first = store.begin("order-17", BODY)
    assert (store.begin("order-17", b"other", wait=60)).state == "conflict"
    first.finish(b"")
    found = store.begin("order-17", b"other")
    assert (found.state, found.answer) == ("conflict", None)
    assert (store.begin("order-17", BODY)).answer == b""


def test_users_and_stores_are_apart(hf: Holdfast) -> None:
    store = hf.idempotency("payments")
    keys = [("a", "bc"), ("ab", "c"), ("", "abc"), ("a" * 5000, "\ud800"), ("", "1:a")]
    for user, key in keys:
        call = store.begin(key, BODY, user=user)
        call.finish(f"{user}|{key}".encode("utf-8", "surrogatepass"))
    for user, key in keys:
        call = store.begin(key, BODY, user=user)
        assert call.answer == f"{user}|{key}".encode("utf-8", "surrogatepass")
    for other in ("payments/", "payments~1", "refunds"):
        assert (hf.idempotency(other).begin("bc", BODY, user="a")).state == "begun"


def test_operators_see_a_key_and_free_it(hf: Holdfast) -> None:
    """Without its answer. A caller that held the key cannot store one."""
    store = hf.idempotency("payments")
    assert store.status("order-17", user="ann") is None
    call = store.begin("order-17", BODY, user="ann")
    running = store.status("order-17", user="ann")
    assert running is not None
    assert (running.state, running.answer_bytes, len(running.fingerprint)) == ("running", 0, 32)
    assert 0 < running.free_in <= 60
    assert store.forget("order-17", user="ann")
    assert not store.forget("order-17", user="ann")
    assert not call.finish(b"too late")
    again = store.begin("order-17", BODY, user="ann")
    assert (again.state, again.finish(b"paid")) == ("begun", True)
    done = store.status("order-17", user="ann")
    assert done is not None
    assert (done.state, done.answer_bytes, done.fingerprint) == ("done", 4, running.fingerprint)
    assert store.status("order-17", user="bea") is None


def test_a_released_key_is_free(hf: Holdfast) -> None:
    store = hf.idempotency("payments")
    call = store.begin("order-17", BODY)
    assert call.release()
    assert not call.release()
    assert (store.begin("order-17", b"other")).state == "begun"


def test_leaving_the_block_frees_the_key_unless_it_has_an_answer(hf: Holdfast) -> None:
    store = hf.idempotency("payments")
    with pytest.raises(ZeroDivisionError), store.begin("order-17", BODY):
        raise ZeroDivisionError
    with store.begin("order-17", BODY) as call:
        assert call.state == "begun"
        call.finish(b"paid")
    with store.begin("order-17", BODY) as later:
        assert later.answer == b"paid"
    assert (store.begin("order-17", BODY)).answer == b"paid"


def test_a_call_that_runs_for_longer_than_its_lease_keeps_its_key(hf: Holdfast) -> None:
    store = hf.idempotency("payments", lease=1.0)
    call = store.begin("order-17", BODY)
    sleep(2.5)
    assert not call.lost
    assert (store.begin("order-17", BODY)).state == "running"
    assert call.finish(b"paid")


def test_a_call_that_lost_its_key_cannot_finish(hf: Holdfast, site: Site) -> None:
    """Its late answer does not replace that of the call that came after it."""
    store = hf.idempotency("payments", lease=1.0)
    late = store.begin("order-17", BODY)
    hf._resources.renewer.drop(late._lease)  # as if this process stood still
    sleep(1.2)
    assert late.lost
    after = store.begin("order-17", BODY)
    assert after.state == "begun"
    assert not late.finish(b"late")
    assert after.finish(b"in time")
    assert (store.begin("order-17", BODY)).answer == b"in time"


def test_an_answer_expires(hf: Holdfast) -> None:
    store = hf.idempotency("payments", ttl=timedelta(milliseconds=300))
    (store.begin("order-17", BODY)).finish(b"paid")
    sleep(0.5)
    assert (store.begin("order-17", b"other")).state == "begun"


def test_the_largest_answer(hf: Holdfast) -> None:
    store = hf.idempotency("payments")
    call = store.begin("order-17", BODY)
    with pytest.raises(PayloadTooLarge, match="takes 1,048,577 bytes"):
        call.finish(b"x" * (MAX_ANSWER_BYTES + 1))
    assert (store.begin("order-17", BODY)).state == "running"
    assert call.finish(b"x" * MAX_ANSWER_BYTES)
    found = (store.begin("order-17", BODY)).answer
    assert found == b"x" * MAX_ANSWER_BYTES


def test_only_a_call_that_has_begun_can_finish(hf: Holdfast) -> None:
    store = hf.idempotency("payments")
    call = store.begin("order-17", BODY)
    second = store.begin("order-17", BODY)
    with pytest.raises(RuntimeError, match="this call is running, so it cannot finish"):
        second.finish(b"x")
    assert not second.release()
    call.finish(b"paid")
    with pytest.raises(RuntimeError, match="finished or released"):
        call.finish(b"again")


def test_what_is_refused(hf: Holdfast) -> None:
    with pytest.raises(ValueError, match=r"lease must be at least 1 s, got 0\.5 s"):
        hf.idempotency("payments", lease=0.5)
    with pytest.raises(ValueError, match="ttl must be at most 366 days"):
        hf.idempotency("payments", ttl=timedelta(days=367))
    with pytest.raises(ValueError, match="must not be empty"):
        hf.idempotency("payments").begin("", BODY)
    with pytest.raises(TypeError, match="a user must be a str, got int 7"):
        hf.idempotency("payments").begin("a", BODY, user=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a fingerprint must be bytes or a str, got NoneType None"):
        hf.idempotency("payments").begin("a", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="wait must be 0 seconds or more"):
        hf.idempotency("payments").begin("a", BODY, wait=-1)
    odd = hf.idempotency("payments").begin("\ud800", "\ud800", user="\ud800")
    assert odd.state == "begun"
    call = hf.idempotency("payments").begin("a", BODY)
    with pytest.raises(TypeError, match="an answer must be bytes, got str"):
        call.finish("paid")  # type: ignore[arg-type]


def test_an_unreachable_server(hf: Holdfast) -> None:
    with Holdfast.from_url("redis://127.0.0.1:1") as other, pytest.raises(ServerUnavailable):
        other.idempotency("payments").begin("order-17", BODY)
