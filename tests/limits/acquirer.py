"""A process that acquires permits; it prints when it asked for each and which instant it got."""

import json
import sys
import time

from holdfast import Holdfast, Limit

if __name__ == "__main__":
    url, namespace, processes, amount, per, permits = sys.argv[1:]
    with Holdfast.from_url(url, namespace=namespace) as hf:
        limiter = hf.rate_limit("crowd", Limit(int(amount), per=float(per)))
        ready = hf.counter("ready")
        ready.add()
        while ready.total(3600) < int(processes):
            time.sleep(0.05)
        got = []
        for _ in range(int(permits)):
            asked = time.time()
            permit = limiter.acquire()
            got.append((asked, permit.waited, permit._reservation.at_ms))
        print(json.dumps(got))
