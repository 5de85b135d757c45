"""The task queue: tasks that run at least once, in order, on any number of workers.

Everything of a queue lives in one hash slot and changes in single atomic steps (`lua/`). `keys.py`
says what is stored, `task.py` and `envelope.py` what a task is, `_async.py` is the queue as its
producers and operators see it, `worker/` runs the tasks.
"""
