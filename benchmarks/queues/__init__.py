"""The task queue beside its rivals.

`parts.py` lists the tables, one module each. `lineup.py` says who takes part, with which version
and which settings; `contenders/` holds one small adapter per library, each run by an
interpreter of its own (`..venvs`) in processes of its own (`contender_processes.py`): a producer
that takes orders, and workers. All run the same task (`task.py`), which leaves its marks on a
scoreboard (`scoreboard.py`): so every table knows what ran, how often and when.

Contenders import this package with nothing but the standard library and their own library at hand.
"""
