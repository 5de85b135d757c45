"""The worker: claims tasks, runs them, settles them.

`worker.py` is what a user runs; `line.py` is its end of one queue, and makes the steps; `runner.py`
runs one task; `context.py` tells a task about itself.
"""
