"""A service that uses everything at once, beside a worker.

`load.py` sends requests, `contenders/` answers them: with Holdfast, and with redis-py, Celery and
dogpile.cache. `run.py` compares both.
"""
