"""Whatever a source raises, readers get `LoadFailed` and the refresher goes on."""

import secrets
from collections.abc import Sequence

import pytest

from faults.hostile import KINDS
from faults.servers import Server
from holdfast import Holdfast, LoadFailed

ORDINARY = sorted(
    kind for kind in KINDS if issubclass(type(KINDS[kind]()), Exception) and kind != "TimeoutError"
)


class Source:
    """Rows of which number 1 cannot be loaded."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def load(self, ids: Sequence[int]) -> dict[int, str]:
        if 1 in ids:
            raise KINDS[self._kind]()  # noqa: RSE102 (some are functions)
        return dict.fromkeys(ids, "row")


@pytest.mark.parametrize("kind", ORDINARY)
def test_a_source_may_raise_whatever_it_likes(standalone: Server, kind: str) -> None:
    """The other rows are loaded; the reason is short and readable."""
    with Holdfast.from_url(standalone.url, namespace=f"hostile-{secrets.token_hex(4)}") as hf:
        cache = hf.row_cache("stock", source=Source(kind))
        with pytest.raises(LoadFailed) as caught:
            cache.get(1, timeout=10.0)
        assert len(str(caught.value)) < 1000
        assert cache.get(2, timeout=10.0).value == "row"
        cache.schedule_many({1: 60.0, 2: 60.0})
        assert cache.refresh_due().failed == 1
