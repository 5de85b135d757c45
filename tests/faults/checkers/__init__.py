"""Checkers: each reads what happened and raises AssertionError with an explanation, or does not."""

from faults.checkers.audit import KeyFacts, audit, read_keys
from faults.checkers.interval_overlap import Hold, holds, interval_overlap
from faults.checkers.linearizability import linearizability
from faults.checkers.models import Counter, FencedLock, FifoQueue, Model, Register
from faults.checkers.rising_fences import rising_fences
from faults.checkers.total_queue import QueueCounts, total_queue

__all__ = [
    "Counter",
    "FencedLock",
    "FifoQueue",
    "Hold",
    "KeyFacts",
    "Model",
    "QueueCounts",
    "Register",
    "audit",
    "holds",
    "interval_overlap",
    "linearizability",
    "read_keys",
    "rising_fences",
    "total_queue",
]
