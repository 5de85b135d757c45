"""One adapter per library, as small as its documentation allows.

Each enqueues, fetches results and works. At-least-once settings are chosen where the library has
them, results are kept by all that can.
"""
