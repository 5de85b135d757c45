"""Requests with an Idempotency-Key, at two processes of one application."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest

from faults.waiting import eventually
from web_apps.conftest import Service, answers


class Order:
    """Requests for one order, with one key."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.name = secrets.token_hex(4)
        self.key = f"key-{self.name}"

    def pay(
        self, process: int = 0, path: str = "/pay", user: str = "ann", **more: Any
    ) -> httpx.Response:
        headers = {"Idempotency-Key": self.key, "X-User": user}
        body = {"order": self.name, **more.pop("body", {})}
        return self.service.clients[process].post(path, json=body, params=more, headers=headers)

    @property
    def effects(self) -> int:
        return self.service.count(self.name)


@pytest.fixture
def order(service: Service) -> Order:
    return Order(service)


def test_a_repeated_request_gets_the_first_answer(order: Order) -> None:
    """From the other process, too; with its status and header fields."""
    first, second, third = order.pay(0), order.pay(1), order.pay(0)
    assert (first.status_code, first.json()["number"]) == (201, 1)
    assert "idempotent-replayed" not in first.headers
    for repeated in (second, third):
        assert (repeated.status_code, repeated.content) == (201, first.content)
        assert repeated.headers["idempotent-replayed"] == "true"
        assert repeated.headers["x-own"] == "kept"
    assert order.effects == 1


def test_another_request_with_the_key_is_refused(order: Order) -> None:
    """With another body, or another query."""
    order.pay()
    for other in (order.pay(1, body={"amount": 6}), order.pay(slow=0.001)):
        assert other.status_code == 422
        assert other.headers["content-type"] == "application/problem+json"
        assert "use a new one" in other.json()["detail"]
    assert order.effects == 1


def test_the_keys_of_users_are_apart(order: Order) -> None:
    assert order.pay(user="ann").json()["number"] == 1
    assert order.pay(user="bea").json()["number"] == 2
    assert order.pay(1, user="ann").json()["number"] == 1


def test_a_key_is_required(service: Service) -> None:
    url, body, user = service.clients[0], {"order": "x"}, {"X-User": "ann"}
    missing = url.post("/pay", json=body, headers=user)
    assert (missing.status_code, "Idempotency-Key" in missing.json()["detail"]) == (400, True)
    for keys in ([""], ["k" * 256], ["a", "b"]):
        headers = [*user.items(), *(("Idempotency-Key", key) for key in keys)]
        assert url.post("/pay", json=body, headers=headers).status_code == 400
    assert url.post("/wait/pay", json=body, headers=user).status_code == 201  # not required there
    assert service.count("x") == 1


@pytest.mark.parametrize("status", [599, 500, 503, 401, 429])
def test_what_may_be_tried_again_is_not_kept(order: Order, status: int) -> None:
    """599 raises an exception in the route."""
    assert order.pay(status=status).status_code == (500 if status == 599 else status)
    assert order.pay(1, status=status).status_code == (500 if status == 599 else status)
    assert order.effects == 2


def test_a_refusal_is_kept(order: Order) -> None:
    assert order.pay(status=404).status_code == 404
    again = order.pay(1, status=404)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (404, "true")
    assert order.effects == 1


def test_an_answer_that_is_too_large_is_not_repeated_but_neither_is_the_request(
    order: Order,
) -> None:
    body = {"filler": 1 << 20}
    assert len(order.pay(body=body).content) > 1 << 20
    again = order.pay(1, body=body)
    assert (again.status_code, again.headers["idempotent-replayed"]) == (409, "true")
    assert "too large" in again.json()["detail"]
    assert order.effects == 1


def test_a_body_that_is_too_large_is_refused(order: Order) -> None:
    assert order.pay(body={"x": "x" * (1 << 20)}).status_code == 413
    assert order.effects == 0


def test_of_concurrent_requests_one_runs(order: Order) -> None:
    """The others get status 409."""
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: order.pay(n % 2, slow=1.0), range(8)))
    assert order.effects == 1
    ran = [each for each in found if each.status_code == 201]
    assert {each.json()["number"] for each in ran} == {1}
    refused = [each for each in found if each.status_code != 201]
    assert {each.status_code for each in refused} <= {409}
    assert all(each.headers["retry-after"] == "1" for each in refused)


def test_concurrent_requests_may_wait_for_the_first(order: Order) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: order.pay(n % 2, "/wait/pay", slow=0.5), range(8)))
    assert {(each.status_code, each.content) for each in found} == {(201, found[0].content)}
    assert sum("idempotent-replayed" not in each.headers for each in found) == 1
    assert order.effects == 1


def test_a_process_that_is_killed_frees_its_key(order: Order) -> None:
    """The other process runs the request when the lease of 2 s has ended, and not before."""
    service = order.service
    with ThreadPoolExecutor() as pool:
        killed = pool.submit(order.pay, 0, slow=3600)
        eventually(lambda: order.effects == 1)
        assert order.pay(1, slow=3600).status_code == 409
        service.processes[0].kill()
        assert isinstance(killed.exception(60), httpx.TransportError)
    try:
        eventually(lambda: _runs(order))
    finally:
        service.processes[0].restart()
        eventually(lambda: answers(service.clients[0]))


def _runs(order: Order) -> bool:
    """Send the request again, and give up as soon as it runs. Return whether it has run."""
    headers = {"Idempotency-Key": order.key, "X-User": "ann"}
    with suppress(httpx.ReadTimeout):
        order.service.clients[1].post(
            "/pay", json={"order": order.name}, params={"slow": 3600}, headers=headers, timeout=1.0
        )
    return order.effects == 2
