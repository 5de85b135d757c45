"""Define every key of idempotent calls: type, content and lifetime."""

from __future__ import annotations

from ..core.names import Unit

STORE = "idempotency"
"""A store of answers, under its name. It has no keys; only the catalog lists it."""

CALL = "idempotent_call"
"""One call of a user; named by `call_unit` in idempotency/call_names.py."""


def call(unit: Unit) -> str:
    """HASH of the fields below.

    While the call runs, it expires at the end of the lease. With an answer, it expires after the
    time to live of the store.

    * `token`: number of the attempt that runs the call, or has finished it.
    * `fingerprint`: digest of what was asked.
    * `answer`: the answer; missing while the call runs.
    """
    return unit.key("call")
