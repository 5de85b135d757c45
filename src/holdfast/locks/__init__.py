"""Locks and counting semaphores: a place that one, or a few, may hold at a time.

A lock is a semaphore of one: they share all scripts (`lua/`). `keys.py` says what is stored,
`terms.py` and `states.py` are values, `turn/` is one acquisition and `places/` what those of a unit
share, `lobby.py` is where a process waits, `lease/` is what a holder has, `fenced/` refuses a
holder that was overtaken. `_async.py` is what users see.
"""
