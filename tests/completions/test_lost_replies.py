"""A reply that is lost leaves nothing half done, and nothing twice."""

import secrets

from faults.proxy import Proxy
from holdfast import Holdfast
from holdfast.completions._sync.completions import ADD


def test_adding_many_asks_again_by_itself(proxy: Proxy) -> None:
    url = f"{proxy.url}?socket_timeout=30"
    with Holdfast.from_url(url, namespace=secrets.token_hex(4)) as hf:
        guild = hf.completions("guild")
        guild.add("known")  # so that the server knows the script
        proxy.drop_reply(match=ADD.sha1.encode())
        assert guild.add_many(f"n{i}" for i in range(250)) == 250
        assert guild.count() == 251
