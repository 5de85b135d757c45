"""Clients of redis-py as a user would make them."""

from typing import Any
from urllib.parse import urlsplit

import redis
from redis.sentinel import Sentinel

from conftest import Site


def client_of(site: Site, **options: Any) -> redis.Redis | redis.RedisCluster:
    """Open a client of redis-py for *site*, with the options of the URL and these."""
    url = site.url.partition("?protocol=")[0].partition("&protocol=")[0]
    if "+cluster" in url:
        return redis.RedisCluster.from_url(url.replace("+cluster", ""), **options)  # type: ignore[no-untyped-call]
    if "+sentinel" not in url:
        return redis.Redis.from_url(url, **options)  # type: ignore[no-untyped-call]
    parts = urlsplit(url)
    addresses = [
        (host, int(port)) for host, port in (a.split(":") for a in parts.netloc.split(","))
    ]
    return Sentinel(addresses).master_for(parts.path[1:], **options)
