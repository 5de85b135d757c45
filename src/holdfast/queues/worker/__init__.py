"""The worker: claims tasks, runs them, settles them.

`worker.py` is what a user runs, `plan.py` what it was asked to do, `signals.py` how Ctrl-C ends it;
`shift.py` is one run of it; `claimer.py` is its end of one queue, and makes the steps; `places.py`
decides how many tasks of which queue may run; `runner.py` runs one task; `ending.py` says how it
ended; `context.py` tells a task about itself.
"""
