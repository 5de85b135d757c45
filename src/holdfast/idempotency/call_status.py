"""Define the status of a call under an idempotency key, for operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class IdempotentCallStatus:
    """What is stored under an idempotency key.

    Attributes:
        state: `running`: a caller holds the key. `done`: there is an answer.
        free_in: seconds until the key is free. While the call runs, its caller renews the lease.
        fingerprint: digest of what was asked, in hexadecimal digits.
        answer_bytes: size of the answer; 0 while the call runs.
    """

    state: Literal["running", "done"]
    free_in: float
    fingerprint: str
    answer_bytes: int
