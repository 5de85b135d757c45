"""Calls under an idempotency key: one begins, and later ones get its answer."""

from datetime import timedelta

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, PayloadTooLarge, ServerUnavailable
from holdfast.core.concurrency._async.primitives import sleep
from holdfast.idempotency._async.call import MAX_ANSWER_BYTES

BODY = b'{"amount": 5}'


async def test_the_first_begins_and_later_ones_get_its_answer(hf: AsyncHoldfast) -> None:
    store = hf.idempotency("payments")
    first = await store.begin("order-17", BODY, user="ann")
    assert (first.state, first.answer) == ("begun", None)
    second = await store.begin("order-17", BODY, user="ann")
    assert (second.state, second.answer) == ("running", None)
    assert 0 < second.free_in <= 60
    assert await first.finish(b"paid")
    third = await store.begin("order-17", BODY, user="ann")
    assert (third.state, third.answer) == ("done", b"paid")
    assert 86_000 < third.free_in <= 86_400
    assert await hf.idempotency_stores() == ["payments"]
    assert (await hf.audit()).damages == ()


async def test_another_fingerprint_is_a_conflict(hf: AsyncHoldfast) -> None:
    """Whether the first call still runs or has its answer."""
    store = hf.idempotency("payments")
    first = await store.begin("order-17", BODY)
    assert (await store.begin("order-17", b"other", wait=60)).state == "conflict"
    await first.finish(b"")
    found = await store.begin("order-17", b"other")
    assert (found.state, found.answer) == ("conflict", None)
    assert (await store.begin("order-17", BODY)).answer == b""


async def test_users_and_stores_are_apart(hf: AsyncHoldfast) -> None:
    store = hf.idempotency("payments")
    keys = [("a", "bc"), ("ab", "c"), ("", "abc"), ("a" * 5000, "\ud800"), ("", "1:a")]
    for user, key in keys:
        call = await store.begin(key, BODY, user=user)
        await call.finish(f"{user}|{key}".encode("utf-8", "surrogatepass"))
    for user, key in keys:
        call = await store.begin(key, BODY, user=user)
        assert call.answer == f"{user}|{key}".encode("utf-8", "surrogatepass")
    for other in ("payments/", "payments~1", "refunds"):
        assert (await hf.idempotency(other).begin("bc", BODY, user="a")).state == "begun"


async def test_operators_see_a_key_and_free_it(hf: AsyncHoldfast) -> None:
    """Without its answer. A caller that held the key cannot store one."""
    store = hf.idempotency("payments")
    assert await store.status("order-17", user="ann") is None
    call = await store.begin("order-17", BODY, user="ann")
    running = await store.status("order-17", user="ann")
    assert running is not None
    assert (running.state, running.answer_bytes, len(running.fingerprint)) == ("running", 0, 32)
    assert 0 < running.free_in <= 60
    assert await store.forget("order-17", user="ann")
    assert not await store.forget("order-17", user="ann")
    assert not await call.finish(b"too late")
    again = await store.begin("order-17", BODY, user="ann")
    assert (again.state, await again.finish(b"paid")) == ("begun", True)
    done = await store.status("order-17", user="ann")
    assert done is not None
    assert (done.state, done.answer_bytes, done.fingerprint) == ("done", 4, running.fingerprint)
    assert await store.status("order-17", user="bea") is None


async def test_a_released_key_is_free(hf: AsyncHoldfast) -> None:
    store = hf.idempotency("payments")
    call = await store.begin("order-17", BODY)
    assert await call.release()
    assert not await call.release()
    assert (await store.begin("order-17", b"other")).state == "begun"


async def test_leaving_the_block_frees_the_key_unless_it_has_an_answer(hf: AsyncHoldfast) -> None:
    store = hf.idempotency("payments")
    with pytest.raises(ZeroDivisionError):
        async with await store.begin("order-17", BODY):
            raise ZeroDivisionError
    async with await store.begin("order-17", BODY) as call:
        assert call.state == "begun"
        await call.finish(b"paid")
    async with await store.begin("order-17", BODY) as later:
        assert later.answer == b"paid"
    assert (await store.begin("order-17", BODY)).answer == b"paid"


async def test_a_call_that_runs_for_longer_than_its_lease_keeps_its_key(hf: AsyncHoldfast) -> None:
    store = hf.idempotency("payments", lease=1.0)
    call = await store.begin("order-17", BODY)
    await sleep(2.5)
    assert not call.lost
    assert (await store.begin("order-17", BODY)).state == "running"
    assert await call.finish(b"paid")


async def test_a_call_that_lost_its_key_cannot_finish(hf: AsyncHoldfast, site: Site) -> None:
    """Its late answer does not replace that of the call that came after it."""
    store = hf.idempotency("payments", lease=1.0)
    late = await store.begin("order-17", BODY)
    hf._resources.renewer.drop(late._lease)  # as if this process stood still
    await sleep(1.2)
    assert late.lost
    after = await store.begin("order-17", BODY)
    assert after.state == "begun"
    assert not await late.finish(b"late")
    assert await after.finish(b"in time")
    assert (await store.begin("order-17", BODY)).answer == b"in time"


async def test_an_answer_expires(hf: AsyncHoldfast) -> None:
    store = hf.idempotency("payments", ttl=timedelta(milliseconds=300))
    await (await store.begin("order-17", BODY)).finish(b"paid")
    await sleep(0.5)
    assert (await store.begin("order-17", b"other")).state == "begun"


async def test_the_largest_answer(hf: AsyncHoldfast) -> None:
    store = hf.idempotency("payments")
    call = await store.begin("order-17", BODY)
    with pytest.raises(PayloadTooLarge, match="takes 1,048,577 bytes"):
        await call.finish(b"x" * (MAX_ANSWER_BYTES + 1))
    assert (await store.begin("order-17", BODY)).state == "running"
    assert await call.finish(b"x" * MAX_ANSWER_BYTES)
    found = (await store.begin("order-17", BODY)).answer
    assert found == b"x" * MAX_ANSWER_BYTES


async def test_only_a_call_that_has_begun_can_finish(hf: AsyncHoldfast) -> None:
    store = hf.idempotency("payments")
    call = await store.begin("order-17", BODY)
    second = await store.begin("order-17", BODY)
    with pytest.raises(RuntimeError, match="this call is running, so it cannot finish"):
        await second.finish(b"x")
    assert not await second.release()
    await call.finish(b"paid")
    with pytest.raises(RuntimeError, match="finished or released"):
        await call.finish(b"again")


async def test_what_is_refused(hf: AsyncHoldfast) -> None:
    with pytest.raises(ValueError, match=r"lease must be at least 1 s, got 0\.5 s"):
        hf.idempotency("payments", lease=0.5)
    with pytest.raises(ValueError, match="ttl must be at most 366 days"):
        hf.idempotency("payments", ttl=timedelta(days=367))
    with pytest.raises(ValueError, match="must not be empty"):
        await hf.idempotency("payments").begin("", BODY)
    with pytest.raises(TypeError, match="a user must be a str, got int 7"):
        await hf.idempotency("payments").begin("a", BODY, user=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a fingerprint must be bytes or a str, got NoneType None"):
        await hf.idempotency("payments").begin("a", None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="wait must be 0 seconds or more"):
        await hf.idempotency("payments").begin("a", BODY, wait=-1)
    odd = await hf.idempotency("payments").begin("\ud800", "\ud800", user="\ud800")
    assert odd.state == "begun"
    call = await hf.idempotency("payments").begin("a", BODY)
    with pytest.raises(TypeError, match="an answer must be bytes, got str"):
        await call.finish("paid")  # type: ignore[arg-type]


async def test_an_unreachable_server(hf: AsyncHoldfast) -> None:
    async with AsyncHoldfast.from_url("redis://127.0.0.1:1") as other:
        with pytest.raises(ServerUnavailable):
            await other.idempotency("payments").begin("order-17", BODY)
