"""Lost requests and replies: whatever is repeated is charged once."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from faults.halves import Half
from faults.proxy import Proxy
from faults.servers import Server
from holdfast import Holdfast, Limit
from holdfast.core.script import Script
from holdfast.errors import OutcomeUnknown
from holdfast.limits._sync.subject import RESERVE, SETTLE

LOSSES = ["drop_reply", "drop_request"]
LIMITS = (Limit(100, per=600.0), Limit(1000, per=600.0, name="tokens"))


@pytest.fixture
def direct(standalone: Server) -> Iterator[Holdfast]:
    """Return a client that does not use the proxy, and has loaded the scripts."""
    with Holdfast.from_url(standalone.url, namespace=f"lost-{secrets.token_hex(4)}") as hf:
        hf.rate_limit("warm", Limit(5, per=1.0)).acquire().settle({"requests": 2})
        yield hf


@pytest.mark.parametrize("usual", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_reservation_is_repeated(
    half: Half, proxy: Proxy, direct: Holdfast, loss: str, usual: bool
) -> None:
    """With and without costs: calls without costs use the fast path."""
    hf = half.client(proxy.url, direct.namespace)
    limits = LIMITS[:1] if usual else LIMITS
    limiter = hf.rate_limit("api", *limits)
    half.do(limiter.peek())
    fault = getattr(proxy, loss)(match=RESERVE.sha1.encode())
    decision = half.do(limiter.try_acquire(*[{"tokens": 7}][: not usual]))
    assert fault.fired == 1
    assert decision.remaining["requests"] == 99
    assert direct.rate_limit("api", *limits).peek().remaining == decision.remaining


@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_correction_is_repeated(
    half: Half, proxy: Proxy, direct: Holdfast, loss: str
) -> None:
    limiter = half.client(proxy.url, direct.namespace).rate_limit("api", *LIMITS)
    permit = half.do(limiter.acquire({"tokens": 500}))
    fault = getattr(proxy, loss)(match=SETTLE.sha1.encode())
    half.do(permit.settle({"tokens": 300}))
    assert fault.fired == 1
    assert direct.rate_limit("api", *LIMITS).peek().remaining == {"requests": 99, "tokens": 700}


@pytest.mark.parametrize("how", ["repeat", "op_id"])
@pytest.mark.parametrize("script", [RESERVE, SETTLE], ids=["reserve", "settle"])
def test_the_user_repeats_what_stayed_unknown(
    half: Half, proxy: Proxy, direct: Holdfast, script: Script, how: str
) -> None:
    """Both attempts of the client lose their replies."""
    impatient = half.client(f"{proxy.url}?socket_timeout=1", direct.namespace)
    limiter = impatient.rate_limit("api", *LIMITS)
    permit = half.do(limiter.acquire({"tokens": 500}))
    calls: dict[str, Callable[..., Any]] = {
        "limits/reserve": lambda **given: limiter.try_acquire({"tokens": 100}, **given),
        "limits/settle": lambda **given: permit.settle({"tokens": 300}, **given),
    }
    call = calls[script.name]
    proxy.drop_replies(1000, match=script.sha1.encode())
    with pytest.raises(OutcomeUnknown) as caught:
        half.do(call())
    proxy.heal()
    half.do(caught.value.repeat() if how == "repeat" else call(op_id=caught.value.op_id))
    wanted = {"limits/reserve": (98, 400), "limits/settle": (99, 700)}[script.name]
    remaining = direct.rate_limit("api", *LIMITS).peek().remaining
    assert (remaining["requests"], remaining["tokens"]) == wanted


def test_a_repetition_that_comes_too_late_is_not_charged(
    half: Half, proxy: Proxy, direct: Holdfast
) -> None:
    """The subject keeps the marks of 64 operations; after that it cannot be known."""
    limiter = half.client(proxy.url, direct.namespace).rate_limit("api", *LIMITS)
    op_id = "hf:limit:abcdef"
    half.do(limiter.try_acquire({"tokens": 1}, op_id=op_id))
    other = direct.rate_limit("api", *LIMITS)
    for n in range(64):
        left = other.try_acquire({"tokens": 1}).remaining["requests"]
        assert left == 98 - n
    with pytest.raises(OutcomeUnknown, match="too many later operations"):
        half.do(limiter.try_acquire({"tokens": 1}, op_id=op_id))
    assert other.peek().remaining["requests"] == left
