"""The handle of a task: what becomes of it, its result, and how to cancel it."""
