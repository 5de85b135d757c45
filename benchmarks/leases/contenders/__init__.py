"""One adapter per library, as small as its documentation allows.

Each says how a caller holds a lock, and a place of a semaphore where there is such a thing. All
have the same lease. What can be made once is made once, and a caller has a connection to
itself wherever the library does not share one by itself.
"""
