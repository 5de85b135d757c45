"""Every public operation of each kind of unit: `_async.py`, and its blocking half."""
