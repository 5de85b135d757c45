"""The seam: the only place where asyncio and threads are named.

`_async.py` and `_sync.py` are hand-written twins with the same names, so that every other file of
the asyncio half becomes one of the blocking half by dropping `async` and `await`; so are those in
`company`. `thread.py` runs the private event loop of the renewer and the bell, which serve both
halves.
"""
