"""A process that acquires permits until a time is over; it prints when it got each, as JSON."""

import json
import sys
import time

from holdfast import Holdfast, Limit

if __name__ == "__main__":
    url, namespace, amount, per, begin, end = sys.argv[1:]
    with Holdfast.from_url(url, namespace=namespace) as hf:
        limiter = hf.rate_limit("crowd", Limit(int(amount), per=float(per)))
        limiter.peek()
        got = []
        time.sleep(max(0.0, float(begin) - time.time()))
        while time.time() < float(end):
            asked = time.time()
            permit = limiter.acquire()
            got.append((asked, permit.waited, time.time(), permit._reservation.at_ms))
        print(json.dumps(got))
