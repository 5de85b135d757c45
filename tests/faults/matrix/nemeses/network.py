"""What happens on the lines: replies and requests lost, resets, delays, half-open connections."""

import time
from collections.abc import Sequence

from faults.matrix.nemeses.fault import Fault
from faults.matrix.scene import Scene, proxied
from faults.proxy import Proxy

SLICE = 1
SLOW_S = 0.02


class Network:
    """The lines of all clients."""

    name = "the network"
    is_running = True

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy


def network(scene: Scene) -> Sequence[Network]:
    """Return the only network."""
    assert scene.proxy is not None
    return [Network(scene.proxy)]


def lose_reply(victim: Network, _: float) -> None:
    """Apply the next script, and lose its reply."""
    victim.proxy.drop_reply(match=b"EVALSHA").wait()


def lose_replies(victim: Network, _: float) -> None:
    """Lose three replies in a row, so the repetition loses its reply, too."""
    victim.proxy.drop_replies(3, match=b"EVALSHA").wait()


def lose_request(victim: Network, _: float) -> None:
    """Lose the request of the next script."""
    victim.proxy.drop_request(match=b"EVALSHA").wait()


def cut(victim: Network, _: float) -> None:
    """Reset every connection."""
    victim.proxy.cut()


def cut_short(victim: Network, _: float) -> None:
    """End a reply in its middle."""
    victim.proxy.cut_reply_at(3, match=b"EVALSHA").wait()


def swallow(victim: Network, seconds: float) -> None:
    """Lines are half-open: nothing arrives, nothing is reset."""
    victim.proxy.black_hole()
    time.sleep(seconds)
    victim.proxy.heal()


def swallow_replies(victim: Network, seconds: float) -> None:
    """Drop everything in one direction: the server applies all requests."""
    victim.proxy.black_hole("replies")
    time.sleep(seconds)
    victim.proxy.heal()


def slice_up(victim: Network, seconds: float) -> None:
    """Deliver everything byte by byte."""
    victim.proxy.slice(SLICE)
    time.sleep(seconds)
    victim.proxy.heal()


def slow_down(victim: Network, seconds: float) -> None:
    """Delay everything."""
    victim.proxy.delay(SLOW_S)
    time.sleep(seconds)
    victim.proxy.heal()


FAULTS = {
    "F7": Fault(
        "replies are lost: the calls are applied",
        proxied,
        network,
        [lose_reply, lose_reply, lose_replies],
        every=(0.01, 0.1),
    ),
    "F8": Fault(
        "requests lost, lines cut, half-open, slow, replies cut short, byte by byte",
        proxied,
        network,
        [lose_request, cut, cut_short, swallow, swallow_replies, slice_up, slow_down],
        every=(0.02, 0.2),
        lasting=(0.05, 0.4),
    ),
}
