"""The task queue: tasks that run at least once, in order, on any number of workers.

All keys of a queue are in one hash slot, and each script in `lua/` changes them atomically.
"""
