# Generated from __init__.py by tools/reference: edit that, then run `make sync`.
from ._sync.task_bench import TaskBench as TaskBench
from ._async.task_bench import AsyncTaskBench as AsyncTaskBench
from .drain_result import DrainResult as DrainResult
