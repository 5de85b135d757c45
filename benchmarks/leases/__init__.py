"""Locks and semaphores beside their rivals.

`parts.py` lists the tables, one module each. `lineup.py` lists the contenders, with their versions
and settings; `contenders/` holds one small adapter per library, each run by an interpreter of
its own (`..venvs`) in processes of its own (`contender_processes.py`). A process has one or more
callers: threads or coroutines that take the lock and give it back. The holder registers in
`occupancy.py`, in memory that all processes share: it shows how many hold the lock at once.

Contenders import this package with nothing but the standard library and their own library at hand.
"""
