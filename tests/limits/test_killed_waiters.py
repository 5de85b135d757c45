"""Waiters that are killed: each loses its own reservation, and nothing else."""

from conftest import Site
from faults.processes import Process
from faults.waiting import eventually
from holdfast import Holdfast, Limit

PER_S = 20.0

PROGRAM = """
import sys
from holdfast import Holdfast, Limit

url, namespace, per = sys.argv[1:]
with Holdfast.from_url(url, namespace=namespace) as hf:
    hf.rate_limit("api", Limit(1, per=float(per))).acquire()
"""


def test_a_killed_waiter_loses_one_reservation(site: Site) -> None:
    """Those after it wait one period more, and no longer."""
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        limiter = hf.rate_limit("api", Limit(1, per=PER_S))
        limiter.acquire()
        arguments = (site.url, site.namespace, str(PER_S))
        with Process.python("-c", PROGRAM, *arguments) as waiter:
            eventually(lambda: limiter.peek().limits[0].reserved == 1)
            assert PER_S < limiter.peek().retry_after <= 2 * PER_S
            waiter.kill()
        assert PER_S - 15 < limiter.peek().retry_after <= 2 * PER_S
        assert limiter.peek().limits[0].reserved == 1
