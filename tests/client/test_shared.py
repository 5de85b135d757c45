"""What the blocks of a client share."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from holdfast.client.shared import shared

TOGETHER = 8


class Client:
    def __init__(self) -> None:
        self.barrier = Barrier(TOGETHER)

    @shared
    def part(self) -> object:
        self.barrier.wait(30)  # so all of them are making one
        return object()


def test_a_part_is_the_same_for_threads_that_make_it_at_once() -> None:
    client = Client()
    with ThreadPoolExecutor(TOGETHER) as pool:
        found = list(pool.map(lambda _: client.part, range(TOGETHER)))
    assert {id(part) for part in found} == {id(client.part)}


def test_each_client_has_its_own() -> None:
    """It is kept with the client, not with its class."""
    one, other = Client(), Client()
    one.barrier = other.barrier = Barrier(1)
    assert one.part is not other.part
    assert one.part is one.part
