"""A reply that is lost: the add counts once, in every precision."""

import secrets

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import Holdfast, OutcomeUnknown
from holdfast.counters._sync import ADD


def test_an_add_that_is_repeated_counts_once(standalone: Server, proxy: Proxy) -> None:
    namespace = secrets.token_hex(4)
    with Holdfast.from_url(f"{proxy.url}?socket_timeout=30", namespace=namespace) as hf:
        hits = hf.counter("hits")
        hits.add()
        for lose in (proxy.drop_reply, proxy.drop_request):
            lose(match=ADD.sha1.encode())
            with pytest.raises(OutcomeUnknown) as lost:
                hits.add(10)
            lost.value.repeat()
            lost.value.repeat()
        for precision in (1, 5, 60, 300, 3600, 18_000, 86_400):
            assert sum(sample.value for sample in hits.samples(precision)) == 21
