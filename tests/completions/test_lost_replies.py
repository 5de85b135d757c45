"""A lost reply leaves no name half added, and adds none twice."""

import secrets

from faults.proxy import Proxy
from holdfast import Holdfast
from holdfast.completions._sync.completions import ADD


def test_add_many_repeats_a_batch_that_lost_its_reply(proxy: Proxy) -> None:
    url = f"{proxy.url}?socket_timeout=30"
    with Holdfast.from_url(url, namespace=secrets.token_hex(4)) as hf:
        guild = hf.completions("guild")
        guild.add("known")  # loads the script
        proxy.drop_reply(match=ADD.sha1.encode())
        assert guild.add_many(f"n{i}" for i in range(250)) == 250
        assert guild.count() == 251
